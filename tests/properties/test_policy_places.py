"""Chances go by tier and ranks by place: one is not taken for the other where a model stands beside the ladder, behind it, or
is not to be had."""

from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.catalogue import Model, Price
from policies.decide import decide_on, first_choice
from policies.decision import Call
from policies.escalate.plan import Escalation
from policies.estimates import Estimate
from policies.facts import Facts
from policies.field import Field, field_of
from policies.pickers.preference import known_places
from policies.policy import Choose, Expected, Policy, Route, Target
from policies.snapshot import ReplicaState, Snapshot
from policies.targets import relative_costs

NAMES = ("a", "b", "c", "d", "e")
HEADS = {name: f"head of {name}" for name in NAMES}
CHANCE = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
CHANCES = st.fixed_dictionaries(dict.fromkeys(HEADS.values(), CHANCE))
ROUNDED = 5


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    """Its first names are the ladder; the route escalates to some model, which may be one of them."""
    inputs = {name: draw(st.sampled_from([100_000, 1_000_000, 2_000_000])) for name in NAMES}
    prices = {name: Price(price, 0, price) for name, price in inputs.items()}
    among = NAMES[: draw(st.integers(2, 3))]
    choose = Choose(
        among=among,
        target=Target("cost", 40, among[-1]),
        when_unsure=draw(st.sampled_from(among)),
        prices={name: prices[name] for name in among},
        relative_cost=relative_costs(prices, among[-1]) or {},
        loss_per_reference=draw(st.sampled_from([0.0, 1.0, 8.0])),
        expected=Expected(40, 97, {}),
    )
    spare = draw(st.sampled_from([None, (), ("e",), ("e", "d"), ("a", "e")]))
    plan = Escalation(name="up", to=draw(st.sampled_from(NAMES)), under=0.5, signals=frozenset())
    return Policy(
        hash="00",
        name="p",
        models={
            name: Model(name=name, at=(f"{name}0", f"{name}1"), price=prices[name], head=HEADS[name]) for name in NAMES
        },
        routes=(Route(name="r", choose=choose, fallback=spare, escalate="up"),),
        escalations={"up": plan},
        may_move=draw(st.sampled_from(["up", "up", "freely"])),
    )


@st.composite
def fields(draw: st.DrawFn, runs: st.SearchStrategy[int]) -> Field:
    """Some models are not allowed or down; the conversation was escalated, or began just now."""
    policy = draw(policies())
    down = draw(st.frozensets(st.sampled_from(NAMES), max_size=3))
    states = {
        name: tuple([ReplicaState(replica=at, ready=name not in down, running=draw(runs)) for at in model.at])
        for name, model in policy.models.items()
    }
    facts = Facts(
        prompt_tokens=1_000,
        history_tokens=draw(st.sampled_from([0, 900])),
        allowed_models=draw(st.none() | st.frozensets(st.sampled_from(NAMES), min_size=1)),
        escalated_to=draw(st.sampled_from(["", policy.escalations["up"].to])),
    )
    return field_of(policy, facts, Snapshot(replicas=states))


@settings(max_examples=200, deadline=None)
@given(fields(st.integers(0, 1)), st.lists(CHANCES, min_size=1, max_size=3))
def test_the_first_choice_is_that_of_the_whole_decision(field: Field, turns: list[dict[str, float]]) -> None:
    estimate = Estimate(p_good=turns[-1], earlier=tuple(turns[:-1]))
    choice = decide_on(field, estimate).choice
    if isinstance(choice, Call):
        assert field.offer is not None
        known = known_places(field.policy, field.offer, field.facts, field.taken, estimate.earlier)
        assert first_choice(field, field.offer, known, estimate) == choice.model


@settings(max_examples=200, deadline=None)
@given(fields(st.just(0)), CHANCES)
def test_who_is_alike_in_rank_is_asked_by_what_the_decision_says_that_it_costs(
    field: Field, chances: dict[str, float]
) -> None:
    decision = decide_on(field, Estimate(p_good=chances))
    if not isinstance(decision.choice, Call) or field.offer is None:
        return
    own, taken = field.offer.own, "" if field.taken is None else field.taken.model
    floor, candidates = own.index(taken) if taken in own else 0, decision.candidates
    if field.offer.beside and taken in field.ready:
        assert {candidate.model for candidate in candidates[:2]} == {taken}
    costs = [candidate.microusd for candidate in candidates if candidate.model in own[floor:]]
    assert all(after >= before - ROUNDED for before, after in pairwise(costs))
