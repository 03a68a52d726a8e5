"""The tests of `policies.experiments` on many runs at once, as arrays. The formulas are those; a test holds them together."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from policies.experiments.baseline import MEMORY
from policies.experiments.evidence import SLOWEST_STEP, SPREAD
from policies.experiments.mixture import rho_for
from policies.experiments.scores import FEWEST, SPREAD_OVER, TUNED_FOR
from policies.experiments.two_by_two import BETS, DIGITS, EDGE, PRIOR, RARE, TIMES

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]


def zeros(runs: int) -> Floats:
    return np.zeros(runs)


@dataclass(slots=True)
class CrowdScores:
    """`scores.Scores` of each run, without covariates or clusters. `log_e` is two-sided."""

    runs: int
    alpha: float
    count: int = 0
    mean: Floats = field(init=False)
    total: Floats = field(init=False)
    squares: Floats = field(init=False)
    expected_squares: Floats = field(init=False)
    deviations: Floats = field(init=False)
    deviation_squares: Floats = field(init=False)
    rho: Floats = field(init=False)

    def __post_init__(self) -> None:
        for name in (
            "mean", "total", "squares", "expected_squares", "deviations", "deviation_squares", "rho",
        ):  # fmt: skip
            setattr(self, name, zeros(self.runs))

    def see(self, outcome: Floats, treated: Bools, treat: float, control: float) -> None:
        """One more outcome of every run, with the same chances of assignment."""
        gap = outcome - self.mean if self.count else zeros(self.runs)
        score = gap * np.where(treated, 1 / treat, -1 / control)
        self.count += 1
        self.mean += (outcome - self.mean) / min(self.count, MEMORY)
        self.total += score
        self.squares += score * score
        square = gap * gap
        self.expected_squares += square * (1 / treat + 1 / control)
        self.deviations += np.abs(gap)
        self.deviation_squares += square
        self._begin()

    def _begin(self) -> None:
        if self.count < FEWEST or bool(np.all(self.rho > 0)):
            return
        wide = self.deviations**2 >= SPREAD_OVER * self.deviation_squares
        fresh = (self.rho == 0) & wide & (self.deviation_squares > 0)
        per_variance = rho_for(1.0, self.alpha) * TUNED_FOR / self.count
        self.rho = np.where(fresh, self.expected_squares * per_variance, self.rho)

    @property
    def log_e(self) -> Floats:
        variance = (self.squares + 2 * self.expected_squares) / 3
        rho = np.where(self.rho > 0, self.rho, 1.0)
        spread = variance + rho
        found = 0.5 * np.log(rho / spread) + self.total**2 / (2 * spread)
        return np.where(self.rho > 0, found, 0.0)


@dataclass(slots=True)
class CrowdRates:
    """`two_by_two.Rates` of each run, against "the treatment's rate is not above control's"."""

    runs: int
    events: tuple[Floats, Floats] = field(init=False)
    counts: tuple[Floats, Floats] = field(init=False)
    bets: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.events = (zeros(self.runs), zeros(self.runs))
        self.counts = (zeros(self.runs), zeros(self.runs))
        self.bets = np.zeros((BETS, self.runs))

    @property
    def log_e(self) -> Floats:
        top = self.bets.max(axis=0)
        return np.asarray(top + np.log(np.exp(self.bets - top).mean(axis=0)))

    def see(self, event: Bools, treated: Bools, chance: float) -> None:
        for place, (treat, control) in enumerate(self._believed()):
            pooled = chance * treat + (1 - chance) * control
            side = np.where(treated, treat, control)
            ratio = np.where(event, side / pooled, (1 - side) / (1 - pooled))
            self.bets[place] += np.where(treat > control, np.log(ratio), 0.0)
        for place, own in enumerate((treated, ~treated)):
            self.events[place][:] += event & own
            self.counts[place][:] += own

    def _believed(self) -> Iterator[tuple[Floats, Floats]]:
        treat, control = (
            rounded((events + PRIOR) / (counts + 2 * PRIOR))
            for events, counts in zip(self.events, self.counts, strict=True)
        )
        yield treat, control
        rare = rounded((self.events[1] + PRIOR) / (self.counts[1] + RARE * PRIOR))
        odds = np.minimum(rare, 0.99) / (1 - np.minimum(rare, 0.99))
        for times in TIMES:
            yield times * odds / (1 + times * odds), rare


def rounded(rates: Floats) -> Floats:
    """As `two_by_two.rounded`."""
    places = DIGITS - 1 - np.floor(np.log10(rates))
    scale = 10.0**places
    return np.asarray(np.minimum(np.round(rates * scale) / scale, 1 - EDGE))


@dataclass(slots=True)
class CrowdQuantile:
    """The running quantile that outcomes are held against."""

    runs: int
    quantile: float
    seen: int = 0
    point: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.point = zeros(self.runs)

    def above(self, amount: Floats) -> Bools:
        """Whether each run's amount is above its running quantile, which then follows."""
        log = np.log(np.maximum(amount, 1e-6))
        found: Any = log > self.point if self.seen else np.zeros(self.runs, dtype=bool)
        if self.seen:
            step = SPREAD * max(1 / (1 + self.seen / 10), SLOWEST_STEP)
            self.point += step * ((log > self.point) - (1 - self.quantile))
        else:
            self.point = log
        self.seen += 1
        return np.asarray(found, dtype=bool)


@dataclass(slots=True)
class CrowdRatio:
    """The running sums by which pairs become single values."""

    runs: int
    seen: int = 0
    tops: Floats = field(init=False)
    bottoms: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.tops, self.bottoms = zeros(self.runs), zeros(self.runs)

    def linearised(self, top: Floats, bottom: Floats) -> Floats:
        known = self.bottoms > 0
        safe = np.where(known, self.bottoms, 1.0)
        value = np.where(known, (top - self.tops / safe * bottom) / (safe / max(self.seen, 1)), 0.0)
        self.tops += top
        self.bottoms += bottom
        self.seen += 1
        return value
