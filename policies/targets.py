"""From a target to an exchange rate: what may a bad answer cost, so that the mix comes to what the operator wrote?

Every prompt of the calibration sample goes to the model with the least cost + loss x (1 - p_good). As `loss` rises, a
prompt moves from model to model along the lower envelope of those lines, each time to a dearer and better one. All
moves of all prompts, sorted by the loss at which they happen, are the frontier of cost and quality that this sample
allows; solving walks along it. Exact, and O(prompts x models^2).
"""

from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import ceil, floor, sqrt
from typing import NamedTuple

from policies.catalogue import Price
from policies.policy import Expected, Target
from policies.terms.cost import EXPECTED_OUTPUT_TOKENS, charge

ASSUMED_PROMPT_TOKENS = 1_000
"""The request that models are compared on. Only the *ratio* of prices enters, so its length cancels; its mix matters a
little, where two models price input and output in different proportions."""

SLACK = 1e-9
ROUNDING = 1e-6
"""What sums over a sample may be off by, in percent."""


class Rung(NamedTuple):
    """A model of the ladder: its cost in units of the reference, and P(good) of every prompt of the sample."""

    model: str
    cost: float
    p_good: Sequence[float]


class Move(NamedTuple):
    """At this loss one prompt goes from one model to a dearer, better one."""

    loss: float
    cost: float
    p_good: float
    left: int
    joined: int


class Point(NamedTuple):
    """A mix: sums over the sample, and how many prompts each rung gets."""

    cost: float
    p_good: float
    counts: tuple[int, ...]


class Solved(NamedTuple):
    """The exchange rate, in units of the reference's charge per bad answer, and what it comes to."""

    loss: float
    expected: Expected


class Infeasible(NamedTuple):
    """No mix of these models holds the target; `why` has the numbers."""

    why: str


def relative_costs(prices: Mapping[str, Price], of: str) -> Mapping[str, float] | None:
    """What each model charges for the assumed request, as a share of what `of` does; None if `of` is free.

    >>> relative_costs({"small": Price(input=1, output=1), "large": Price(input=4, output=4)}, "large")
    {'small': 0.25, 'large': 1.0}
    """
    charges = {name: charge(price, ASSUMED_PROMPT_TOKENS, EXPECTED_OUTPUT_TOKENS) for name, price in prices.items()}
    return {name: cost / charges[of] for name, cost in charges.items()} if charges[of] else None


def stand_in_prices(among: Sequence[str]) -> Mapping[str, Price]:
    """Prices for a ladder that has none: the lowest tier is free, the highest $1/M in and $3/M out, the others evenly
    between. With two models `cost: 40% of large` is then "40% of requests go to large".

    >>> stand_in_prices(["small", "medium", "large"])["medium"]
    Price(input=500000, cached_input=500000, output=1500000, cache_write=None)
    """
    top = len(among) - 1
    return {
        model: Price(1_000_000 * i // top, 1_000_000 * i // top, 3_000_000 * i // top) for i, model in enumerate(among)
    }


def solve(target: Target, rungs: Sequence[Rung]) -> Solved | Infeasible:
    """The largest loss that keeps a cost, or the smallest that reaches a quality. Rungs in the order of the ladder.

    >>> half = [0.1, 0.2, 0.8, 0.9]
    >>> solve(Target("cost", 50, "large"), [Rung("small", 0.0, half), Rung("large", 1.0, [1.0] * 4)]).expected.shares
    {'small': 0.5, 'large': 0.5}
    """
    size = len(rungs[0].p_good)
    if not size:
        return Infeasible("the calibration sample is empty")
    reference = next(rung for rung in rungs if rung.model == target.of)
    frontier = list(walk(rungs))
    quality = sum(reference.p_good)
    if target.kind == "cost":
        bound = target.percent / 100 * size + SLACK * size
        held = [i for i, (_, point) in enumerate(frontier) if point.cost <= bound]
        at = held[-1] if held else None
    else:
        bound = target.percent / 100 * quality - SLACK * size
        at = next((i for i, (_, point) in enumerate(frontier) if point.p_good >= bound), None)
    if at is None:
        return Infeasible(_out_of_reach(target, mixes(rungs, target.of)))
    return Solved(_between(frontier, at), _expect(rungs, frontier[at][1], quality))


def mixes(rungs: Sequence[Rung], of: str) -> Sequence[Expected]:
    """The whole frontier, cheapest mix first, against the model `of`. The sample is not empty."""
    quality = sum(next(rung for rung in rungs if rung.model == of).p_good)
    return [_expect(rungs, point, quality) for _, point in walk(rungs)]


def dearest_within(frontier: Sequence[Expected], cost_percent: float) -> Expected | None:
    """The best mix that keeps a cost, if one does."""
    at = bisect_right(frontier, cost_percent + ROUNDING, key=lambda mix: mix.cost_percent)
    return frontier[at - 1] if at else None


def steps(frontier: Sequence[Expected], count: int) -> Sequence[Expected]:
    """The two ends of a frontier, and the mixes nearest below equal steps of cost between them."""
    low, high = frontier[0].cost_percent, frontier[-1].cost_percent
    wanted = [low + (high - low) * i / (count - 1) for i in range(count - 1)]
    inner = [mix for cost in wanted if (mix := dearest_within(frontier, cost)) is not None]
    return [mix for mix, _ in groupby([*inner, frontier[-1]])]


def can_be_had(frontier: Sequence[Expected]) -> str:
    """What to ask for instead."""
    there_is = ", ".join(f"{mix.cost_percent:.0f}% for {mix.quality_percent:.1f}%" for mix in steps(frontier, 6))
    return f"; cost and quality that can be had: {there_is}"


def walk(rungs: Sequence[Rung]) -> Iterator[tuple[float, Point]]:
    """The frontier, cheapest mix first: each mix with the loss from which on it is right."""
    costs = [rung.cost for rung in rungs]
    prompts = list(zip(*[rung.p_good for rung in rungs], strict=True))
    first = [cheapest(costs, chances) for chances in prompts]
    counts = [first.count(rung) for rung in range(len(rungs))]
    cost = sum(costs[rung] for rung in first)
    p_good = sum(chances[rung] for chances, rung in zip(prompts, first, strict=True))
    yield 0.0, Point(cost, p_good, tuple(counts))
    moves = sorted(move for chances, rung in zip(prompts, first, strict=True) for move in climb(costs, chances, rung))
    for loss, together in groupby(moves, key=lambda move: move.loss):
        for move in together:
            cost, p_good = cost + move.cost, p_good + move.p_good
            counts[move.left] -= 1
            counts[move.joined] += 1
        yield loss, Point(cost, p_good, tuple(counts))


def cheapest(costs: Sequence[float], p_good: Sequence[float]) -> int:
    """Where a prompt is while quality is worth nothing: the cheapest model, of those the better, then the lower one."""
    least = min(costs)
    if costs.count(least) == 1:
        return costs.index(least)
    return max([rung for rung, cost in enumerate(costs) if cost == least], key=p_good.__getitem__)


def climb(costs: Sequence[float], p_good: Sequence[float], at: int) -> Iterator[Move]:
    """The moves of one prompt along its lower envelope, beginning at model `at`.

    >>> [(move.loss, move.joined) for move in climb([0.0, 0.5, 1.0], [0.25, 0.75, 0.875], 0)]
    [(1.0, 1), (4.0, 2)]
    """
    while True:
        here, good = costs[at], p_good[at]
        steps = [
            ((cost - here) / gain, -gain, to) for to, cost in enumerate(costs) if (gain := p_good[to] - good) > SLACK
        ]
        if not steps:
            return
        loss, less, to = min(steps)
        yield Move(loss, costs[to] - here, -less, at, to)
        at = to


def _between(frontier: Sequence[tuple[float, Point]], at: int) -> float:
    """A loss inside the interval in which mix `at` is right, so that no rounding moves a prompt of the sample."""
    start = frontier[at][0]
    if at + 1 == len(frontier):
        return start * 2 or 1.0
    end = frontier[at + 1][0]
    return sqrt(start * end) or end / 2


def _expect(rungs: Sequence[Rung], point: Point, quality: float) -> Expected:
    size = sum(point.counts)
    shares = {rung.model: count / size for rung, count in zip(rungs, point.counts, strict=True)}
    return Expected(100 * point.cost / size, 100 * point.p_good / quality if quality else 100.0, shares)


def _out_of_reach(target: Target, frontier: Sequence[Expected]) -> str:
    """How far the models of the ladder get, with the numbers on both sides, and what else can be had."""
    if target.kind == "cost":
        low = frontier[0]
        return (
            f"the cheapest mix already costs {low.cost_percent:.1f}% of {target.of}"
            f" (at {low.quality_percent:.1f}% of its quality); ask for at least cost {ceil(low.cost_percent - ROUNDING)}%"
        ) + can_be_had(frontier)
    best = frontier[-1]
    return (
        f"the best mix reaches {best.quality_percent:.1f}% of the quality of {target.of}"
        f" (at {best.cost_percent:.1f}% of its cost); ask for at most quality {floor(best.quality_percent + ROUNDING)}%"
    ) + can_be_had(frontier)
