"""One difference between two variants as a sum of scores, and what that sum is worth as evidence at every look.

The score of an outcome y is (y - m) (1{treatment}/p - 1{control}/q), with p and q the chances of assignment and m a guess from
what came before. Its mean is the difference between the variants, whatever the chances were and however outcomes drifted
(inverse-propensity scores with augmentation; Bibaut and others, 2210.10768). Where variants do not differ, outcomes are what
they are and chance is in the assignment alone: then exp(l S - l^2/6 (sum z^2 + 2 sum E z^2)) is a supermartingale for every l
(Delyon 2009), so the normal mixture over l is exact at every look, for any distribution, under drift and ramps.

Where units come more than once, only their totals are independent. Units fall into buckets by their digest, and the variance
is that of the buckets' sums: constant space, and sums of several gateways can be added.
"""

import math
from collections.abc import Sequence

import msgspec

from policies.experiments.baseline import Baseline, expected, learn
from policies.experiments.mixture import bound, bound_above, log_e, log_e_above, rho_for

TUNED_FOR = 5_000
"""Outcomes at which a difference is seen soonest."""

FEWEST = 100
SPREAD_OVER = 10.0
"""Outcomes before the first look: so many, and so many that the deviations are not those of one or two."""

BUCKETS = 256


class Draw(msgspec.Struct, frozen=True):
    """How a unit was assigned: to the treatment (True), to control (False), or to neither of the two (None); and the chances of
    both. `bucket` in [0, 1) stands for the unit where it may come again, None where each unit comes once. `first`: the unit
    has not come before. `among` is the treatment's chance beside everybody who might have had it, where that is more than
    who was drawn to be compared; of these others is who is not `is_drawn`: control like any, in the same hours."""

    treated: bool | None
    treat: float
    control: float
    bucket: float | None = None
    first: bool = False
    among: float | None = None
    is_drawn: bool = True

    @property
    def chance(self) -> float:
        """The treatment's, among all whose events are compared."""
        return self.treat / (self.treat + self.control) if self.among is None else self.among

    @property
    def sign(self) -> float:
        """1/p, -1/q or 0."""
        if self.treated is None:
            return 0.0
        return 1 / self.treat if self.treated else -1 / self.control

    @property
    def expected_square(self) -> float:
        return 1 / self.treat + 1 / self.control


class Side(msgspec.Struct, frozen=True):
    """Outcomes of one variant: how many, and their sum."""

    count: int = 0
    total: float = 0.0


class Scores(msgspec.Struct, frozen=True, kw_only=True):
    """Sums over outcomes. `squares` is of scores, `expected_squares` what assignment makes of them on average, `deviations` and
    `deviation_squares` of outcomes from their guess. `arms` are sums of the two variants' scores apart and of their products
    (treat, control, treat^2, treat control, control^2). `by_bucket`, `by_bucket_expected`: scores, and what is expected of
    them, summed by bucket of units; `bucket_squares` and `bucket_expected_squares` are of these sums. They are empty where each
    unit comes once. `rho` is 0 before the first look."""

    baseline: Baseline = Baseline()
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    expected_squares: float = 0.0
    deviations: float = 0.0
    deviation_squares: float = 0.0
    arms: tuple[float, float, float, float, float] = (0.0, 0.0, 0.0, 0.0, 0.0)
    by_bucket: tuple[float, ...] = ()
    by_bucket_expected: tuple[float, ...] = ()
    bucket_squares: float = 0.0
    bucket_expected_squares: float = 0.0
    rho: float = 0.0
    treat: Side = Side()
    control: Side = Side()

    @property
    def variance(self) -> float:
        """The variance process of the total."""
        if not self.by_bucket:
            return (self.squares + 2 * self.expected_squares) / 3
        own = self.bucket_squares
        return max(own, (own + 2 * self.bucket_expected_squares) / 3)

    @property
    def means(self) -> tuple[float, float] | None:
        """What the treatment's and control's mean would be, had all been in it; their difference is the effect."""
        return (self.arms[0] / self.count, self.arms[1] / self.count) if self.rho else None

    @property
    def effect(self) -> float:
        """The difference, treatment less control."""
        return self.total / self.count if self.count else 0.0

    @property
    def log_e(self) -> float:
        """Against "no difference"; 0 before the first look."""
        return log_e(self.total, self.variance, self.rho) if self.rho else 0.0

    @property
    def log_e_above(self) -> float:
        """Against "the treatment's outcomes are not larger"; 0 before the first look."""
        return log_e_above(self.total, self.variance, self.rho) if self.rho else 0.0


def see(scores: Scores, draw: Draw, outcome: float, covariates: Sequence[float], alpha: float) -> Scores:
    """After one more outcome. The first one only tells where outcomes are.

    >>> found = Scores()
    >>> for i in range(2_000):
    ...     found = see(found, Draw(i % 2 == 0, 0.5, 0.5), float(i % 7) + (i % 2 == 0), (), 0.05)
    >>> round(found.effect), found.log_e > math.log(20)
    (1, True)
    """
    guess = expected(scores.baseline, covariates)
    gap = outcome - guess if scores.baseline.count else 0.0
    score = gap * draw.sign
    seen = msgspec.structs.replace(
        scores,
        baseline=learn(scores.baseline, outcome, covariates),
        count=scores.count + 1,
        total=scores.total + score,
        squares=scores.squares + score * score,
        expected_squares=scores.expected_squares + gap * gap * draw.expected_square,
        deviations=scores.deviations + abs(gap),
        deviation_squares=scores.deviation_squares + gap * gap,
        arms=_arms(scores.arms, guess if scores.baseline.count else outcome, gap, draw),
        **_buckets(scores, draw, score, gap),
        **_sides(scores, draw, outcome),
    )
    return seen if seen.rho else begun(seen, alpha)


def begun(scores: Scores, alpha: float) -> Scores:
    """With `rho` fixed as soon as the size of outcomes is known. It depends on outcomes alone, not on who had which variant."""
    spread_over = scores.deviations**2 / scores.deviation_squares if scores.deviation_squares else 0.0
    if scores.count < FEWEST or spread_over < SPREAD_OVER:
        return scores
    return msgspec.structs.replace(scores, rho=rho_for(scores.expected_squares / scores.count * TUNED_FOR, alpha))


def _arms(
    arms: tuple[float, float, float, float, float], guess: float, gap: float, draw: Draw
) -> tuple[float, float, float, float, float]:
    treat = guess + (gap / draw.treat if draw.treated else 0.0)
    control = guess + (gap / draw.control if draw.treated is False else 0.0)
    one, other, tt, tc, cc = arms
    return one + treat, other + control, tt + treat * treat, tc + treat * control, cc + control * control


def _sides(scores: Scores, draw: Draw, outcome: float) -> dict[str, Side]:
    if draw.treated is None:
        return {}
    name, side = ("treat", scores.treat) if draw.treated else ("control", scores.control)
    grown = Side(side.count + 1, side.total + outcome)
    return {name: grown}


def _buckets(scores: Scores, draw: Draw, score: float, gap: float) -> dict[str, object]:
    """A unit's scores add up in its bucket. Against cancelling, what is expected of them gets a sign of the unit's own."""
    if draw.bucket is None:
        return {}
    place = int(draw.bucket * BUCKETS * 2)
    index, sign = place // 2, 1 - 2 * (place % 2)
    by_bucket, grown = _added(scores.by_bucket, index, score)
    expected_by, expected_grown = _added(scores.by_bucket_expected, index, sign * gap * math.sqrt(draw.expected_square))
    return {
        "by_bucket": by_bucket,
        "by_bucket_expected": expected_by,
        "bucket_squares": scores.bucket_squares + grown,
        "bucket_expected_squares": scores.bucket_expected_squares + expected_grown,
    }


def _added(sums: tuple[float, ...], index: int, amount: float) -> tuple[tuple[float, ...], float]:
    """The sums with one more amount, and by how much their squares grew."""
    known = list(sums) or [0.0] * BUCKETS
    before = known[index]
    known[index] = before + amount
    return tuple(known), amount * (2 * before + amount)


def merged(one: Scores, other: Scores) -> Scores:
    """Two gateways' sums as one. Each had a guess of its own, so scores are added and the guesses are not."""
    larger, smaller = (one, other) if one.count >= other.count else (other, one)
    by_bucket, expected_by = (
        _sum(one.by_bucket, other.by_bucket),
        _sum(one.by_bucket_expected, other.by_bucket_expected),
    )
    added = {name: getattr(one, name) + getattr(other, name) for name in SUMS}
    return msgspec.structs.replace(
        larger,
        **added,
        arms=_sum(one.arms, other.arms),
        by_bucket=by_bucket,
        by_bucket_expected=expected_by,
        bucket_squares=math.fsum([z * z for z in by_bucket]),
        bucket_expected_squares=math.fsum([z * z for z in expected_by]),
        rho=larger.rho or smaller.rho,
        treat=_both(one.treat, other.treat),
        control=_both(one.control, other.control),
    )


SUMS = ("count", "total", "squares", "expected_squares", "deviations", "deviation_squares")


def _sum(one: tuple[float, ...], other: tuple[float, ...]) -> tuple[float, ...]:
    return tuple([a + b for a, b in zip(one, other, strict=True)]) if one and other else one or other


def _both(one: Side, other: Side) -> Side:
    return Side(*[getattr(one, name) + getattr(other, name) for name in Side.__struct_fields__])


def interval(scores: Scores, alpha: float) -> tuple[float, float] | None:
    """Where the difference is, at every look with chance 1 - alpha (asymptotically, as the difference is not known)."""
    if not scores.rho:
        return None
    spread = max(scores.variance - scores.count * scores.effect**2, scores.variance / 4)
    half = bound(spread, scores.rho, alpha) / scores.count
    return scores.effect - half, scores.effect + half


def at_least(scores: Scores, alpha: float) -> float | None:
    """The difference is above this, at every look with chance 1 - alpha."""
    if not scores.rho:
        return None
    spread = max(scores.variance - scores.count * scores.effect**2, scores.variance / 4)
    return scores.effect - bound_above(spread, scores.rho, alpha) / scores.count
