"""A ratio of two variants' means with its interval, from the sums that scores keep (Fieller's way, at every look)."""

from collections.abc import Callable

from policies.experiments.mixture import bound
from policies.experiments.scores import Scores

HALVINGS = 60
FARTHEST = 1e6


def lift(scores: Scores) -> float | None:
    """The treatment's mean over control's, less 1; None where control's is 0."""
    treat, control = scores.arms[:2]
    return treat / control - 1 if control else None


def lift_interval(scores: Scores, alpha: float) -> tuple[float, float] | None:
    """Where the lift is, at every look with chance 1 - alpha: all ratios r for which the sum of treatment less r times control
    is no surprise. None before the first look, and where control's mean may be 0."""
    found = lift(scores)
    if not scores.rho or found is None or scores.arms[1] <= 0:
        return None
    low, high = (_edge(found + 1, step, lambda r: surprising(scores, r, alpha)) for step in (-1.0, 1.0))
    return None if low is None or high is None else (low - 1, high - 1)


def surprising(scores: Scores, times: float, alpha: float) -> bool:
    """Whether it can be ruled out that the treatment's mean is `times` control's."""
    treat, control = scores.arms[:2]
    variance, at_one = _variance(scores, times), _variance(scores, 1.0)
    return abs(treat - times * control) > bound(variance, scores.rho * variance / at_one, alpha)


def _variance(scores: Scores, times: float) -> float:
    """Of the sum, with what clusters add to it."""
    treat, control, tt, tc, cc = scores.arms
    own = tt - 2 * times * tc + times * times * cc - (treat - times * control) ** 2 / scores.count
    return max(own, 1e-12 * tt) * scores.variance / max(scores.squares, 1e-300)


def _edge(inside: float, step: float, out: Callable[[float], bool]) -> float | None:
    """The first ratio that is out, seen from `inside`."""
    beyond = inside + step * 1e-3 * max(1.0, abs(inside))
    while not out(beyond):
        beyond = inside + 2 * (beyond - inside)
        if abs(beyond - inside) > FARTHEST:
            return None
    for _ in range(HALVINGS):
        middle = (inside + beyond) / 2
        inside, beyond = (inside, middle) if out(middle) else (middle, beyond)
    return inside
