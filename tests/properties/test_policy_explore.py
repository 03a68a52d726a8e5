"""Laws of exploring: stated chances are the real ones, nothing forbidden is drawn, and a conversation keeps its tier."""

from collections import Counter
from collections.abc import Sequence

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_policy_deciding import ESTIMATES, FACTS, WORLDS, policies

from policies.catalogue import Model, Price
from policies.decide import decide
from policies.decision import Call, Decision, Reject
from policies.estimates import Estimate
from policies.facts import AUTO, Facts
from policies.pickers.explore import drawn
from policies.policy import Choose, Expected, Line, MayMove, Policy, Route, Target
from policies.snapshot import Snapshot
from policies.targets import relative_costs

LADDER = ("small", "medium", "large")
MODELS = {
    name: Model(name=name, at=(f"http://{name}",), price=Price(price, price, 4 * price), head=name)
    for name, price in zip(LADDER, (100_000, 500_000, 2_000_000), strict=True)
}
DRAWS = [(2 * i + 1) / 2_000 for i in range(1_000)]


def exploring(share: float, may_move: MayMove = "up") -> Policy:
    prices = {name: model.price for name, model in MODELS.items()}
    choose = Choose(
        among=LADDER,
        target=Target("cost", 40, "large"),
        when_unsure="large",
        prices=prices,
        relative_cost=relative_costs(prices, "large") or {},
        loss_per_reference=2.0,
        expected=Expected(40, 97, {}),
    )
    route = Route(name="default", choose=choose, explore=share)
    return Policy(hash="00", name="explores", models=MODELS, routes=(route,), may_move=may_move)


def chances(small: float, medium: float, large: float) -> dict[str, float]:
    return {"small": small, "medium": medium, "large": large}


def with_exploring(policy: Policy, share: float) -> Policy:
    routes = tuple(msgspec.structs.replace(route, explore=share) for route in policy.routes)
    return msgspec.structs.replace(policy, routes=routes)


def model_of(decision: Decision) -> str:
    return decision.choice.model if isinstance(decision.choice, Call) else ""


@pytest.mark.parametrize("share", [0.03, 0.5, 0.99])
@pytest.mark.parametrize("earlier", [(), (chances(0.1, 0.9, 0.95),)])
def test_each_model_is_asked_first_as_often_as_the_decision_says(share: float, earlier: tuple[dict[str, float], ...]):
    rules, estimate = exploring(share), Estimate(p_good=chances(0.9, 0.95, 0.97), earlier=earlier)
    made = [decide(rules, Facts(prompt_tokens=90), estimate, Snapshot(replicas={}, draw=draw)) for draw in DRAWS]

    (stated,) = {tuple(sorted(one.propensity.items())) for one in made}
    asked = Counter(model_of(one) for one in made)

    assert sum(p for _, p in stated) == pytest.approx(1)
    assert {model for model, _ in stated} == set(asked)
    for model, p in stated:
        assert asked[model] / len(DRAWS) == pytest.approx(p, abs=2 / len(DRAWS))
    assert {one.probability for one in made} <= {p for _, p in stated}


@settings(max_examples=150, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS, st.tuples(st.floats(0.01, 0.99), st.floats(0, 1, exclude_max=True)))
def test_a_draw_changes_who_is_asked_first_and_nothing_that_the_policy_forbids(
    p: Policy, facts: Facts, estimate: Estimate, world: Snapshot, drawing: tuple[float, float]
) -> None:
    share, draw = drawing
    world = msgspec.structs.replace(world, draw=draw)
    plain, made = decide(p, facts, estimate, world), decide(with_exploring(p, share), facts, estimate, world)

    assert Counter(map(repr, made.candidates)) == Counter(map(repr, plain.candidates))
    assert made.dropped == plain.dropped
    if not made.instead_of:
        assert (made.steps, made.reason) == (plain.steps, plain.reason)
        return
    among = next(route.choose.among for route in p.routes if route.name == made.route and route.choose)
    assert facts.requested == AUTO
    assert made.instead_of == model_of(plain) != model_of(made)
    assert model_of(made) in among
    assert model_of(made) in {candidate.model for candidate in made.candidates}
    assert model_of(made) == drawn(share, among, draw)
    assert "drawn" in made.reason
    assert made.instead_of in made.reason


@settings(max_examples=150, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS, st.floats(0, 1, exclude_max=True))
def test_chances_come_to_one_and_who_was_asked_had_one(
    p: Policy, facts: Facts, estimate: Estimate, world: Snapshot, draw: float
) -> None:
    made = decide(with_exploring(p, 0.25), facts, estimate, msgspec.structs.replace(world, draw=draw))

    if isinstance(made.choice, Reject) or not made.propensity:
        assert made.probability == 1
        return
    assert sum(made.propensity.values()) == pytest.approx(1)
    assert made.propensity[made.choice.model] == made.probability > 0
    assert set(made.propensity) <= {candidate.model for candidate in made.candidates}


def answered(rules: Policy, turns: Sequence[tuple[dict[str, float], float]], draw: float) -> list[int]:
    """The tiers of a conversation whose turns have these chances, each with the line of its time."""
    tiers, before = [], 0.0
    for at, (p_good, loss) in enumerate(turns):
        before = max(before, loss)
        now = rules.redrawn({"default": Line(loss, before)})
        estimate = Estimate(p_good=p_good, earlier=tuple(past for past, _ in turns[:at]))
        made = decide(now, Facts(prompt_tokens=100 + 400 * at), estimate, Snapshot(replicas={}, draw=draw))
        tiers.append(LADDER.index(model_of(made)))
    return tiers


TURNS = st.lists(
    st.tuples(st.tuples(*[st.floats(0.01, 0.99)] * 3).map(lambda p: chances(*sorted(p))), st.floats(0.05, 30)),
    min_size=2,
    max_size=6,
)


@settings(max_examples=200, deadline=None)
@given(TURNS, st.floats(0, 1, exclude_max=True))
def test_who_was_drawn_up_stays_up_and_nobody_is_taken_down(
    turns: list[tuple[dict[str, float], float]], draw: float
) -> None:
    tiers = answered(exploring(0.9), turns, draw)

    assert tiers == sorted(tiers)


@settings(max_examples=100, deadline=None)
@given(TURNS, st.floats(0.1, 1, exclude_max=True))
def test_a_drawn_conversation_that_may_never_move_does_not(
    turns: list[tuple[dict[str, float], float]], draw: float
) -> None:
    steady = [(p_good, 2.0) for p_good, _ in turns]

    assert len(set(answered(exploring(0.9, "never"), steady, draw))) == 1


def test_without_one_draw_for_all_turns_a_conversation_would_come_down() -> None:
    """So that the law above is seen to depend on it."""
    easy = (chances(0.97, 0.98, 0.99), 2.0)
    up, down = answered(exploring(0.9), [easy], 0.99), answered(exploring(0.9), [easy, easy], 0.0)

    assert (up[0], down[1]) == (2, 0)


def test_a_world_without_a_draw_explores_nothing() -> None:
    made = decide(exploring(0.9), Facts(), Estimate(p_good=chances(0.97, 0.98, 0.99)), Snapshot(replicas={}))

    assert (model_of(made), made.instead_of) == ("small", "")
