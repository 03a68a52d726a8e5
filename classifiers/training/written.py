"""What a command found that wrote an artefact."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from classifiers.artefact import Manifest
from classifiers.heads.inputs import Floats
from classifiers.measuring.baselines import random
from classifiers.measuring.curves import Curves, curves
from classifiers.measuring.report import Report
from classifiers.outcomes.own import first_and_last

REPORT = "report.json"


class Written(Report, frozen=True, kw_only=True):
    """A table, and by name: `artefact` is its digest as decisions carry it, `metrics` are those of its manifest, `curves` are
    of rows that it had not seen, `outcomes` of a log by model and by who told them."""

    artefact: str
    metrics: Mapping[str, float]
    curves: Curves
    outcomes: Mapping[str, Mapping[str, int]] = {}


def written(
    manifest: Manifest,
    table: Report,
    curves: Curves,
    folder: Path,
    outcomes: Mapping[str, Mapping[str, int]] | None = None,
) -> Written:
    """The same as `report.json` beside the artefact. Raises OSError."""
    found = Written(
        title=table.title, columns=table.columns, rows=table.rows, notes=table.notes, forms=table.forms,
        artefact=manifest.digest[:12], metrics=manifest.metrics, curves=curves, outcomes=outcomes or {},
    )  # fmt: skip
    found.write(folder / REPORT)
    return found


def curves_of(order: Floats, chars: Floats, p_good: Floats, quality: Floats, models: Sequence[str]) -> Curves:
    """Of rows that were kept back: ours goes by `order`, prompt length by `chars`, [n] each, beside chance and the oracle."""
    first, last = first_and_last(models)
    orders = {
        "turnout": order,
        "random": random(["" for _ in order]),
        "length": chars,
        "oracle": quality[:, last] - quality[:, first],
    }
    return curves(orders, p_good, quality, models)
