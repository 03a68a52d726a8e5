"""The suites of `turnout experiment simulate`: how often a test stops though nothing differs, how soon where something does."""

import math
from collections.abc import Callable, Iterator

import msgspec
import numpy as np

from gateway.experiments.crowd import Bools, CrowdQuantile, CrowdRates, CrowdRatio, CrowdScores, Floats
from gateway.experiments.nulls import QUANTILE, World, amounts, assigned, chance_at, events, pairs, worlds
from policies.experiments.asymptotic import tuning
from policies.experiments.scores import TUNED_FOR

LENGTH = 4_000
"""Requests of a run; each is a look."""

ALPHA, GUARDRAIL_ALPHA = 0.05, 0.01
CONFIDENCE = 0.99

BEFORE, AFTER = 0.90, 0.93
LONGEST = 30_000

Look = Callable[[int], Floats]
"""One more request of every run; gives the logs of the e-values."""


class Null(msgspec.Struct, frozen=True, kw_only=True):
    """`false_stop_rate` of `runs`, and what it is at least, surely (Clopper and Pearson)."""

    null: str
    test: str
    alpha: float
    false_stop_rate: float
    at_least: float
    runs: int

    @property
    def holds(self) -> bool:
        return self.at_least <= self.alpha


class Power(msgspec.Struct, frozen=True, kw_only=True):
    """Median requests of both variants together until the difference is seen, beside the confidence sequence in GrowthBook's
    form on the same runs."""

    before: float
    after: float
    runs: int
    median_samples: float
    median_asympcs: float
    vs_asympcs: float
    undecided: int


def null_suite(runs: int, seed: int, length: int = LENGTH) -> Iterator[Null]:
    """The test of a difference in every world; the tests of guardrails where events, or quantiles, are what they watch."""
    for number, world in enumerate(worlds()):
        random = np.random.default_rng((seed, number))
        yield tried(world, "difference", ALPHA, difference(world, runs, random, length), runs=runs, length=length)
        if world.kind == "bernoulli":
            yield tried(
                world, "events above", GUARDRAIL_ALPHA, worse(world, runs, random, length), runs=runs, length=length
            )
        if world.kind == "lognormal":
            yield tried(
                world, "p95 above", GUARDRAIL_ALPHA, slower(world, runs, random, length), runs=runs, length=length
            )


def tried(world: World, test: str, alpha: float, look: Look, *, runs: int, length: int) -> Null:
    limit = -math.log(alpha)
    stopped = np.zeros(runs, dtype=bool)
    for step in range(length):
        stopped |= look(step) >= limit
    count = int(stopped.sum())
    least = at_least(count, runs)
    return Null(null=world.name, test=test, alpha=alpha, false_stop_rate=count / runs, at_least=least, runs=runs)


def difference(world: World, runs: int, random: np.random.Generator, length: int) -> Look:
    scores, ratio = CrowdScores(runs, ALPHA), CrowdRatio(runs)

    def outcome(part: float) -> Floats:
        if world.kind == "bernoulli":
            return events(world, part, runs, random).astype(np.float64)
        if world.kind == "ratio":
            return ratio.linearised(*pairs(world, part, runs, random))
        return amounts(world, part, runs, random)

    def look(step: int) -> Floats:
        chance = chance_at(world, step / length)
        scores.see(outcome(step / length), assigned(random, runs, chance), chance, 1 - chance)
        return scores.log_e

    return look


def worse(world: World, runs: int, random: np.random.Generator, length: int) -> Look:
    """An error is the event that did not happen."""
    rates = CrowdRates(runs)

    def look(step: int) -> Floats:
        chance = chance_at(world, step / length)
        rates.see(~events(world, step / length, runs, random), assigned(random, runs, chance), chance)
        return rates.log_e

    return look


def slower(world: World, runs: int, random: np.random.Generator, length: int) -> Look:
    rates, point = CrowdRates(runs), CrowdQuantile(runs, QUANTILE)

    def look(step: int) -> Floats:
        chance = chance_at(world, step / length)
        above = point.above(amounts(world, step / length, runs, random))
        rates.see(above, assigned(random, runs, chance), chance)
        return rates.log_e

    return look


def power_suite(runs: int, seed: int) -> Power:
    """From .90 to .93, half and half, a look at every request."""
    random = np.random.default_rng(seed)
    scores, yardstick = CrowdScores(runs, ALPHA), Yardstick(runs)
    ours, theirs = np.full(runs, np.inf), np.full(runs, np.inf)
    for step in range(1, LONGEST + 1):
        treated = assigned(random, runs, 0.5)
        outcome = random.random(runs) < np.where(treated, AFTER, BEFORE)
        scores.see(outcome.astype(np.float64), treated, 0.5, 0.5)
        yardstick.see(outcome, treated)
        ours = np.where(np.isinf(ours) & (scores.log_e >= -math.log(ALPHA)), step, ours)
        theirs = np.where(np.isinf(theirs) & yardstick.decided, step, theirs)
        if not np.isinf(ours).any() and not np.isinf(theirs).any():
            break
    return Power(
        before=BEFORE,
        after=AFTER,
        runs=runs,
        median_samples=float(np.median(ours)),
        median_asympcs=float(np.median(theirs)),
        vs_asympcs=float(np.median(ours) / np.median(theirs)),
        undecided=int(np.isinf(ours).sum()),
    )


class Yardstick:
    """The confidence sequence in GrowthBook's form (`asymptotic.half_width_of`) for two rates, on arrays."""

    def __init__(self, runs: int) -> None:
        self._events = np.zeros((2, runs))
        self._counts = np.zeros((2, runs))
        self._rho = tuning(TUNED_FOR, ALPHA)

    def see(self, event: Bools, treated: Bools) -> None:
        for arm, own in enumerate((treated, ~treated)):
            self._events[arm] += event & own
            self._counts[arm] += own

    @property
    def decided(self) -> Bools:
        counts = np.maximum(self._counts, 1)
        rates = self._events / counts
        error = np.sqrt((rates * (1 - rates) / counts).sum(axis=0))
        samples, rho = counts.sum(axis=0), self._rho
        grown = samples * rho * rho + 1
        half = error * np.sqrt(samples) * np.sqrt(2 * grown / (samples * rho) ** 2 * np.log(np.sqrt(grown) / ALPHA))
        enough = (self._events.min(axis=0) >= 1) & ((counts - self._events).min(axis=0) >= 1)
        return np.asarray(enough & (np.abs(rates[0] - rates[1]) > half), dtype=bool)


def at_least(count: int, runs: int, confidence: float = CONFIDENCE) -> float:
    """The lower bound of Clopper and Pearson, one-sided: the least rate at which as many stops are not too surprising.

    >>> at_least(0, 100), round(at_least(10, 100), 3)
    (0.0, 0.042)
    """
    low, high = 0.0, count / runs
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if as_many(count, runs, middle) < 1 - confidence else (low, middle)
    return low


def as_many(count: int, runs: int, rate: float) -> float:
    """The chance of at least `count` of `runs`."""
    if count == 0 or rate <= 0:
        return float(count == 0)
    logs = [
        math.lgamma(runs + 1) - math.lgamma(k + 1) - math.lgamma(runs - k + 1)
        + k * math.log(rate) + (runs - k) * math.log1p(-rate)
        for k in range(count)
    ]  # fmt: skip
    return max(0.0, 1 - math.fsum(map(math.exp, logs)))
