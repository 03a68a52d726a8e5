"""Measures an artefact on a person's own outcomes, beside every baseline, with bootstrap intervals."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from classifiers import artefact
from classifiers.artefact import Artefact
from classifiers.embedding.store import Progress
from classifiers.heads.inputs import Floats, Inputs
from classifiers.measuring import metrics
from classifiers.measuring.baselines import BASELINES
from classifiers.measuring.curves import Curves, curves, gapless
from classifiers.measuring.ece_interval import ece_interval
from classifiers.measuring.report import Cell, Report, shown
from classifiers.measuring.routed import Interval, Router, constant, resampled, routed
from classifiers.measuring.score import as_served, gain, known_inputs, store_of
from classifiers.measuring.tiered import Tiered, gains_of, measure_tiered
from classifiers.outcomes.own import Outcomes, OutcomesRefused, first_and_last, read_outcomes
from classifiers.stages import static_inputs
from classifiers.unfamiliar.doubt import coverage, promised

COLUMNS = (
    "router", "APGR", "95 %", "CPT50", "CPT80", "AUC", "at 40%", "for 95%",
)  # fmt: skip
_ALWAYS = {"always small": 0.0, "always large": 1.0}
_LEGEND = (
    "at 40%: mean quality when this share of prompts goes to large; for 95%: share of prompts that must go to large "
    "to reach this part of its quality"
)


class Chances(msgspec.Struct, frozen=True, kw_only=True):
    """How far the chances of one model can be believed: 15 bins of equal mass; mean squared error; mean of both.

    An ECE has the noise of its bins in it: what is true begins where `ece_95` does, at zero where noise alone comes to as much.
    """

    ece: float
    ece_95: Interval
    brier: float
    brier_95: Interval
    predicted: float
    observed: float


class Measured(msgspec.Struct, frozen=True, kw_only=True):
    """`coverage` is the share of prompts for which there would be an estimate; all prompts are in the other numbers. At least
    `familiar_level` of prompts drawn like those of training are promised one. `quick` is None without that stage.

    `curves` are what `--plots` draws.
    """

    artefact: str
    prompts: int
    coverage: float
    familiar_level: float
    quick: Tiered | None
    routers: Mapping[str, Router]
    chances: Mapping[str, Chances]
    curves: Curves

    def report(self) -> Report:
        """As a table for reading."""
        notes = [
            f"P({model}): ECE {found.ece:.3f} ({shown(found.ece_95)}), Brier {found.brier:.3f}, "
            f"predicted {found.predicted:.3f}, observed {found.observed:.3f}"
            for model, found in self.chances.items()
        ]
        notes.append(_LEGEND)
        promised = f"{self.familiar_level:.1%} of prompts like those of training are promised one"
        notes.append(f"an estimate for {self.coverage:.1%} of {self.prompts} prompts; {promised}")
        notes += [_told(self.quick)] if self.quick else []
        notes += filter(None, [gapless(self.curves)])
        rows = tuple((name, *_cells(router)) for name, router in self.routers.items())
        return Report(title=f"artefact {self.artefact}", columns=COLUMNS, rows=rows, notes=tuple(notes))


def measure(
    folder: Path | None,
    data: Path,
    *,
    cache_dir: Path,
    embedder: str | None = None,
    threads: int = 2,
    resamples: int = 500,
    progress: Progress | None = None,
) -> Measured:
    """One entry per router. Raises ArtefactRefused, OutcomesRefused, EncoderMissing."""
    opened, outcomes = artefact.load(folder or artefact.SHIPPED), read_outcomes(data)
    quality = qualities_of(outcomes, opened.manifest.heads, data)
    store = store_of(opened, cache_dir, embedder, threads, progress)
    texts = outcomes.prompts.texts
    inputs = known_inputs(opened, texts, store)
    whole = opened.blend.p_good(inputs)
    p_good, doubts = as_served(opened, texts, store, inputs, whole)
    first, last = first_and_last(opened.manifest.heads)
    pair = quality[:, first], quality[:, last]
    orders: dict[str, Floats | None] = {"turnout": gain(p_good, opened.manifest.heads)}
    for name, order in BASELINES.items():
        orders[name] = None if name in _ALWAYS else order(texts)
    orders["oracle"] = pair[1] - pair[0]
    draws = resampled(len(outcomes), resamples)
    routers = {
        name: constant(_ALWAYS[name], *pair, draws) if order is None else routed(order, *pair, draws)
        for name, order in orders.items()
    }
    believed = {model: _chances(p_good[:, at], quality[:, at], draws) for at, model in enumerate(opened.manifest.heads)}
    return Measured(
        artefact=opened.manifest.digest[:12], prompts=len(outcomes), coverage=coverage(texts, doubts),
        familiar_level=promised(opened), quick=_quick(opened, texts, inputs, whole, pair),
        routers=routers, chances=believed, curves=curves(_known(orders), p_good, quality, opened.manifest.heads),
    )  # fmt: skip


def qualities_of(outcomes: Outcomes, models: Sequence[str], data: Path) -> Floats:
    """The outcomes of these models, [n, models]. Raises OutcomesRefused where one is missing."""
    if missing := [model for model in models if model not in outcomes.models]:
        raise OutcomesRefused(f"{data}:1 lacks the column '{missing[0]}_correct', a model that the artefact knows")
    if not len(outcomes):
        raise OutcomesRefused(f"{data} holds no prompts")
    return outcomes.quality[:, [outcomes.models.index(model) for model in models]]


def _known(orders: Mapping[str, Floats | None]) -> Mapping[str, Floats]:
    return {name: order for name, order in orders.items() if order is not None}


def _chances(p_good: Floats, quality: Floats, draws: Sequence[metrics.Rows]) -> Chances:
    brier = metrics.brier(p_good, quality)
    return Chances(
        ece=metrics.ece(p_good, quality),
        ece_95=ece_interval(p_good, quality),
        brier=brier,
        brier_95=metrics.interval([metrics.brier(p_good[rows], quality[rows]) for rows in draws], brier),
        predicted=float(p_good.mean()),
        observed=float(quality.mean()),
    )


def _quick(
    opened: Artefact, texts: Sequence[str], inputs: Inputs, p_good: Floats, pair: tuple[Floats, Floats]
) -> Tiered | None:
    if opened.stages is None:
        return None
    return measure_tiered(
        gains_of(opened.blend, opened.stages, static_inputs(texts, inputs), p_good, opened.manifest.heads), *pair
    )


def _told(quick: Tiered) -> str:
    loss = "" if quick.apgr_loss is None else f"APGR loss {quick.apgr_loss:+.4f}, "
    return (
        f"quick stage: answers {quick.share_quick:.1%} of prompts, {loss}{quick.moved:.2%} of "
        f"decisions differ; the full gain lies in its interval for {quick.inside:.1%} ({quick.level:.0%} promised)"
    )


def _cells(router: Router) -> tuple[Cell, ...]:
    at, part = router.quality_at["0.4"], router.share_for["0.95"]
    return (router.apgr, router.apgr_95, router.cpt50, router.cpt80, router.auc, at, part)
