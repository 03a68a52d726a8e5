"""What a command found that wrote an artefact."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from classifiers.artefact import Manifest
from classifiers.heads.inputs import Floats
from classifiers.measuring import metrics
from classifiers.measuring.baselines import random
from classifiers.measuring.curves import Curves, curves
from classifiers.measuring.report import Report
from classifiers.measuring.score import gain
from classifiers.outcomes.own import first_and_last

REPORT = "report.json"


class Written(Report, frozen=True, kw_only=True):
    """A table, and by name: `artefact` is its digest as decisions carry it, `metrics` are those of its manifest, `curves` are
    of rows that its heads had not seen, `outcomes` of a log by model and by who told them."""

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


def curves_of(p_good: Floats, quality: Floats, models: Sequence[str], chars: Floats, round_of: metrics.Rows) -> Curves:
    """Of rows that heads kept back in these rounds: ours, prompt length (`chars` [n]), chance and the oracle. An order is
    within the rows of a round, for the heads of two rounds are on no common scale."""
    first, last = first_and_last(models)
    orders = {
        "turnout": metrics.ranks_within(gain(p_good, models), round_of),
        "random": random(["" for _ in chars]),
        "length": metrics.ranks_within(chars, round_of),
        "oracle": quality[:, last] - quality[:, first],
    }
    return curves(orders, p_good, quality, models)
