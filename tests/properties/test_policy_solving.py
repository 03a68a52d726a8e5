"""Laws of solved targets: what was promised on the sample is what deciding does on it."""

from itertools import pairwise
from random import Random

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policies.catalogue import Model, Price
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Choose, Policy, Route, Target
from policies.snapshot import Snapshot
from policies.targets import Infeasible, Rung, Solved, relative_costs, solve, walk


@st.composite
def samples(draw: st.DrawFn, size: int = 200) -> list[list[float]]:
    """Chances of two to four models on as many prompts, without ties: a skewed, seeded spread for each model."""
    spread = Random(draw(st.integers(0, 2**32)))
    low = sorted(draw(st.lists(st.floats(0, 0.6), min_size=2, max_size=4)))
    return [[floor + (1 - floor) * spread.random() for _ in range(size)] for floor in low]


def rungs_of(sample: list[list[float]], costs: list[float]) -> list[Rung]:
    return [Rung(f"m{i}", cost, p_good) for i, (p_good, cost) in enumerate(zip(sample, costs, strict=False))]


COSTS = st.lists(st.floats(0.001, 0.9), min_size=3, max_size=3, unique=True).map(sorted)


@settings(deadline=None)
@given(samples(), COSTS, st.floats(1, 100))
def test_a_cost_is_kept_and_used_to_within_one_percent(
    sample: list[list[float]], costs: list[float], percent: float
) -> None:
    rungs = rungs_of(sample, [*costs[: len(sample) - 1], 1.0])
    solved = solve(Target("cost", percent, rungs[-1].model), rungs)
    cheapest = 100 * min(rung.cost for rung in rungs)
    if isinstance(solved, Infeasible):
        assert percent < cheapest + 1e-6
        return
    best = list(walk(rungs))[-1][1]
    assert solved.expected.cost_percent <= percent + 1e-6
    assert solved.expected.cost_percent > min(percent, 100 * best.cost / 200) - 1


@settings(deadline=None)
@given(samples(), COSTS, st.floats(10, 120))
def test_a_quality_is_reached_with_no_move_to_spare(
    sample: list[list[float]], costs: list[float], percent: float
) -> None:
    rungs = rungs_of(sample, [*costs[: len(sample) - 1], 1.0])
    solved = solve(Target("quality", percent, rungs[-1].model), rungs)
    mixes = [point for _, point in walk(rungs)]
    reference = sum(rungs[-1].p_good)
    reached = [100 * point.p_good / reference >= percent - 1e-6 for point in mixes]
    assert isinstance(solved, Solved) == any(reached)
    if isinstance(solved, Solved):
        at = reached.index(True)
        assert abs(solved.expected.cost_percent - 100 * mixes[at].cost / 200) < 1e-6


@settings(deadline=None)
@given(samples(), COSTS)
def test_the_frontier_only_rises(sample: list[list[float]], costs: list[float]) -> None:
    mixes = list(walk(rungs_of(sample, [*costs[: len(sample) - 1], 1.0])))
    for (loss, here), (later, there) in pairwise(mixes):
        assert loss < later or loss == 0.0
        assert there.cost >= here.cost - 1e-9
        assert there.p_good >= here.p_good - 1e-9
        assert sum(there.counts) == 200


@settings(max_examples=30, deadline=None)
@given(samples(), st.integers(20, 95), st.integers(1, 20_000))
def test_deciding_on_the_sample_gives_the_share_that_was_promised(
    sample: list[list[float]], percent: int, prompt_tokens: int
) -> None:
    names = [f"m{i}" for i in range(len(sample))]
    models = {
        name: Model(name=name, at=(f"http://{name}",), price=Price(p, p, 3 * p), head=name)
        for name, p in zip(names, (100_000, 500_000, 1_000_000, 5_000_000)[-len(names) :], strict=True)
    }
    prices = {name: model.price for name, model in models.items()}
    costs = relative_costs(prices, names[-1])
    assert costs is not None
    target = Target("cost", percent, names[-1])
    solved = solve(target, [Rung(name, costs[name], p) for name, p in zip(names, sample, strict=True)])
    assume(isinstance(solved, Solved))
    assert isinstance(solved, Solved)
    choose = Choose(
        among=tuple(names),
        target=target,
        when_unsure=names[-1],
        prices=prices,
        relative_cost=costs,
        loss_per_reference=solved.loss,
        expected=solved.expected,
    )
    policy = Policy(hash="", name="", models=models, routes=(Route(name="r", choose=choose),))
    facts, idle = Facts(prompt_tokens=prompt_tokens), Snapshot(replicas={})
    chosen = [
        decide(policy, facts, Estimate(p_good=dict(zip(names, chances, strict=True))), idle).choice
        for chances in zip(*sample, strict=True)
    ]
    for name in names:
        share = sum(isinstance(choice, Call) and choice.model == name for choice in chosen) / len(chosen)
        assert abs(share - solved.expected.shares[name]) <= 0.01
