"""Two artefacts on the same prompts: is one better, or is it luck? By a bootstrap that resamples both alike."""

from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import numpy as np

from classifiers import artefact
from classifiers.artefact import Artefact
from classifiers.embedding.store import EmbedStore, Progress
from classifiers.heads.inputs import Floats
from classifiers.measuring import metrics
from classifiers.measuring.baselines import length
from classifiers.measuring.curves import Curves, curves, gapless
from classifiers.measuring.measure import qualities_of
from classifiers.measuring.pictures import Picture, both
from classifiers.measuring.report import Report, shown
from classifiers.measuring.routed import Interval
from classifiers.measuring.score import chances, gain, store_of
from classifiers.outcomes.own import Outcomes, first_and_last, read_outcomes

COLUMNS = ("measure", "first", "second", "difference", "95 %", "better")


FORMS = {"first": "{:.4f}", "second": "{:.4f}", "difference": "{:+.4f}", "95 %": "{:+.4f}"}


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """One measure of both; `difference` is second minus first, its interval a paired bootstrap over prompts, None where no draw
    had anything to gain. Nothing is told of a part of a gap that there is not."""

    first: float | None
    second: float | None
    difference: float | None
    interval_95: Interval | None
    more_is_better: bool

    def verdict(self) -> str:
        """ "first" or "second", or "neither" where the interval holds zero or is not known."""
        low, high = self.interval_95 or (0.0, 0.0)
        if low <= 0 <= high:
            return "neither"
        return "second" if (low > 0) == self.more_is_better else "first"

    def told(self, name: str) -> str:
        """In one line, as a picture's title has it."""
        return f"second minus first, {name}: {shown(self.difference, '{:+.4f}')} (95 %: {shown(self.interval_95, '{:+.4f}')})"


class Compared(msgspec.Struct, frozen=True, kw_only=True):
    """Both artefacts by digest, and each measure by name; `curves` of "first" and "second" are what `--plots` draws."""

    first: str
    second: str
    prompts: int
    measures: dict[str, Difference]
    curves: Mapping[str, Curves]

    def report(self) -> Report:
        """As a table for reading."""
        rows = tuple(
            (name, found.first, found.second, found.difference, found.interval_95, found.verdict())
            for name, found in self.measures.items()
        )
        title = f"{self.first} and {self.second} on {self.prompts} prompts"
        why = gapless(self.curves["second"]) or gapless(self.curves["first"])
        return Report(title=title, columns=COLUMNS, rows=rows, forms=FORMS, notes=tuple(filter(None, [why])))

    def pictures(self) -> Iterator[Picture]:
        """Reliability and deferral of both, each with what the difference comes to."""
        titles = {
            "reliability": self.measures["brier_small"].told("Brier of P(small)"),
            "deferral": self.measures["apgr"].told("APGR"),
        }
        return both(self.curves["first"], self.curves["second"], titles)


def compare(
    first: Path,
    second: Path,
    data: Path,
    *,
    cache_dir: Path,
    embedder: str | None = None,
    threads: int = 2,
    resamples: int = 500,
    progress: Progress | None = None,
) -> Compared:
    """APGR, CPT50, CPT80 and the Brier score of the small model's chances. Raises as `measure` does."""
    outcomes, pair = read_outcomes(data), (artefact.load(first), artefact.load(second))
    one, other = (  # one after the other: what the first embeds, the second finds kept
        _scored(opened, outcomes, data, store_of(opened, cache_dir, embedder, threads, progress)) for opened in pair
    )
    draw = np.random.default_rng(0)
    draws = [draw.integers(0, len(outcomes), len(outcomes)) for _ in range(resamples)]
    measures = {
        name: _difference(one, other, name, draws, more_is_better=name == "apgr")
        for name in ("apgr", "cpt50", "cpt80", "brier_small")
    }
    return Compared(
        first=one.name, second=other.name, prompts=len(outcomes), measures=measures,
        curves={"first": one.curves, "second": other.curves},
    )  # fmt: skip


class _Scored(msgspec.Struct, frozen=True):
    name: str
    order: Floats
    p_small: Floats
    small: Floats
    large: Floats
    curves: Curves

    def has_gap(self, rows: metrics.Rows) -> bool:
        return metrics.has_gap(self.small[rows], self.large[rows])

    def measure(self, name: str, rows: metrics.Rows) -> float:
        outcome = self.order[rows], self.small[rows], self.large[rows]
        if name == "apgr":
            return metrics.apgr(*outcome)
        if name == "brier_small":
            return metrics.brier(self.p_small[rows], self.small[rows])
        return metrics.cpt(*outcome, 0.5 if name == "cpt50" else 0.8)


def _scored(opened: Artefact, outcomes: Outcomes, data: Path, store: EmbedStore) -> _Scored:
    models = opened.manifest.heads
    quality, p_good = qualities_of(outcomes, models, data), chances(opened, outcomes.prompts.texts, store)
    small, large = first_and_last(models)
    order = gain(p_good, models)
    drawn = curves({"turnout": order, "length": length(outcomes.prompts.texts)}, p_good, quality, models)
    return _Scored(opened.manifest.digest[:12], order, p_good[:, small], quality[:, small], quality[:, large], drawn)


def _difference(
    one: _Scored, other: _Scored, name: str, draws: list[metrics.Rows], *, more_is_better: bool
) -> Difference:
    every, needs_gap = np.arange(len(one.order)), name != "brier_small"
    if needs_gap and not _has_gap(one, other, every):
        return Difference(first=None, second=None, difference=None, interval_95=None, more_is_better=more_is_better)
    first, second = one.measure(name, every), other.measure(name, every)
    usable = [rows for rows in draws if not needs_gap or _has_gap(one, other, rows)]
    spread = [other.measure(name, rows) - one.measure(name, rows) for rows in usable]
    return Difference(
        first=first, second=second, difference=second - first,
        interval_95=metrics.interval(spread, second - first) if spread else None, more_is_better=more_is_better,
    )  # fmt: skip


def _has_gap(one: _Scored, other: _Scored, rows: metrics.Rows) -> bool:
    return one.has_gap(rows) and other.has_gap(rows)
