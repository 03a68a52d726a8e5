"""Laws of deciding, over worlds that Hypothesis makes up."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from policies.advance import Outcome, advance, begin
from policies.catalogue import Fits, Model, Price
from policies.decide import decide, decide_on
from policies.decision import Call, Decision, Reject
from policies.estimates import Estimate, Span
from policies.explain import explain
from policies.facts import AUTO, Ability, Facts
from policies.field import field_of
from policies.offer import offer_of
from policies.pickers.within_target import tiers
from policies.policy import Affinity, Choose, Expected, Policy, Resilience, Route, Target
from policies.snapshot import ReplicaState, Snapshot
from policies.targets import relative_costs
from policies.unsettled import left_open

NAMES = ("a", "b", "c", "d")
ABILITIES: tuple[Ability, ...] = ("tools", "vision", "json_schema")
CHANCE = st.floats(0, 1)
CHANCES = st.dictionaries(st.sampled_from(NAMES), CHANCE, min_size=0, max_size=4)
ABLE = st.frozensets(st.sampled_from(ABILITIES), max_size=3)
SOME_NAMES = st.lists(st.sampled_from(NAMES), unique=True, max_size=3).map(tuple)


@st.composite
def models(draw: st.DrawFn, name: str) -> Model:
    """Every price is above zero, so that every ladder has a reference."""
    window = st.none() | st.integers(1, 2000)
    price = draw(st.integers(1, 10_000_000))
    return Model(
        name=name,
        at=tuple(f"http://{name}{i}" for i in range(draw(st.integers(1, 3)))),
        price=Price(price, draw(st.integers(0, price)), draw(st.integers(1, 10_000_000))),
        fits=Fits(draw(window), draw(window)),
        can=draw(ABLE),
        head=name,
    )


@st.composite
def routes(draw: st.DrawFn, catalogue: dict[str, Model]) -> Route:
    fallback = draw(st.none() | SOME_NAMES)
    kind = draw(st.sampled_from(["use", "requested", "choose"]))
    wants_stream = draw(st.none() | st.booleans())
    matches = lambda facts: wants_stream is None or facts.stream is wants_stream  # noqa: E731
    if kind != "choose":
        use = "requested" if kind == "requested" else draw(st.sampled_from(NAMES))
        return Route(name=f"{kind}-{use}", matches=matches, use=use, fallback=fallback)
    among = tuple(draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=2, max_size=4)))
    prices = {name: catalogue[name].price for name in among}
    of = draw(st.sampled_from(among))
    choose = Choose(
        among=among,
        target=Target("cost", 40, of),
        when_unsure=draw(st.sampled_from(among)),
        prices=prices,
        relative_cost=relative_costs(prices, of) or {},
        loss_per_reference=draw(st.floats(0, 50)),
        expected=Expected(40, 97, {}),
    )
    return Route(name="choose", matches=matches, choose=choose, fallback=fallback)


@st.composite
def policies(draw: st.DrawFn) -> Policy:
    catalogue = {name: draw(models(name)) for name in NAMES}
    return Policy(
        hash="00",
        name="made up",
        models=catalogue,
        routes=tuple(draw(st.lists(routes(catalogue), min_size=1, max_size=3, unique_by=lambda route: route.name))),
        may_move=draw(st.sampled_from(["up", "freely", "never"])),
        resilience=Resilience(attempts=draw(st.integers(1, 4))),
        affinity=Affinity(draw(st.floats(1, 3)), draw(st.floats(0, 8))),
    )


FACTS = st.builds(
    Facts,
    requested=st.sampled_from([AUTO, AUTO, "a", "b", "nobody"]),
    prompt_tokens=st.integers(0, 3000),
    exact_tokens=st.dictionaries(st.sampled_from(NAMES), st.integers(0, 3000), max_size=2),
    max_tokens=st.none() | st.integers(1, 2000),
    needs=ABLE,
    stream=st.booleans(),
    allowed_models=st.none() | st.frozensets(st.sampled_from(NAMES)),
    prefix=st.text(max_size=4),
)
ESTIMATES = st.builds(
    Estimate,
    p_good=CHANCES,
    earlier=st.lists(CHANCES, max_size=3).map(tuple),
    abstains=st.sampled_from(["", "", "late"]),
)
STATES = st.builds(
    lambda name, i, **state: ReplicaState(replica=f"http://{name}{i}", **state),
    st.sampled_from(NAMES),
    st.integers(0, 2),
    ready=st.booleans(),
    queued_tokens=st.integers(0, 50_000),
    rests=st.sampled_from(["", "", "", "it failed"]),
    running=st.integers(0, 64),
    resident_tokens=st.integers(0, 4000),
    prefill_tokens_per_s=st.sampled_from([0.0, 2_000.0, 2_400.0, 9_000.0]),
    alike=st.sampled_from([0, 0, 40]),
)
WORLDS = st.lists(STATES, max_size=10).map(
    lambda states: Snapshot(replicas={n: tuple(s for s in states if s.replica[7] == n) for n in NAMES})
)


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS)
def test_decide_is_a_function_of_its_values(p: Policy, facts: Facts, estimate: Estimate, world: Snapshot) -> None:
    shuffled = Snapshot(replicas={name: states[::-1] for name, states in reversed(list(world.replicas.items()))})
    once, again = decide(p, facts, estimate, world), decide(p, facts, estimate, world)
    assert msgspec.json.encode(once) == msgspec.json.encode(again)
    if all(len({s.replica for s in states}) == len(states) for states in world.replicas.values()):
        assert decide(p, facts, estimate, shuffled) == once
    assert msgspec.json.decode(msgspec.json.encode(once), type=Decision) == once


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS)
def test_every_model_is_a_candidate_or_has_a_reason(
    p: Policy, facts: Facts, estimate: Estimate, world: Snapshot
) -> None:
    decision = decide(p, facts, estimate, world)
    candidates = {candidate.model for candidate in decision.candidates}
    assert candidates | {drop.model for drop in decision.dropped} == set(NAMES)
    assert all(drop.reason for drop in decision.dropped)
    assert {row.model for row in explain(decision)} == set(NAMES)


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS)
def test_steps_are_distinct_candidates_within_the_attempts(
    p: Policy, facts: Facts, estimate: Estimate, world: Snapshot
) -> None:
    decision = decide(p, facts, estimate, world)
    if isinstance(decision.choice, Reject):
        assert len(decision.steps) == 1
        assert decision.choice.message
        return
    assert len(set(decision.steps)) == len(decision.steps) <= p.resilience.attempts
    possible = {Call(candidate.model, candidate.replica) for candidate in decision.candidates}
    assert set(decision.steps) <= possible


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS)
def test_whoever_is_asked_may_can_fits_and_is_up(p: Policy, facts: Facts, estimate: Estimate, world: Snapshot) -> None:
    decision = decide(p, facts, estimate, world)
    for step in decision.steps:
        if isinstance(step, Reject):
            continue
        model = p.models[step.model]
        states = {state.replica: state for state in world.replicas.get(model.name, ())}
        assert facts.allowed_models is None or model.name in facts.allowed_models
        assert facts.needs <= model.can
        assert facts.tokens_for(model.name) + (facts.max_tokens or 1) <= (model.fits.context or 10**9)
        assert (facts.max_tokens or 0) <= (model.fits.output or 10**9)
        assert step.replica in model.replicas
        assert step.replica not in states or states[step.replica].ready


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS)
def test_a_named_model_is_asked_first_or_was_down(p: Policy, facts: Facts, estimate: Estimate, world: Snapshot) -> None:
    decision = decide(p, facts, estimate, world)
    if facts.requested not in p.models or isinstance(decision.choice, Reject):
        return
    ready = [candidate for candidate in decision.candidates if candidate.model == facts.requested]
    assert not ready or decision.choice.model == facts.requested


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, st.lists(CHANCES.filter(lambda c: len(c) == 4), min_size=1, max_size=4))
def test_a_conversation_that_may_only_go_up_never_comes_down(
    p: Policy, facts: Facts, history: list[dict[str, float]]
) -> None:
    """Replay a conversation turn by turn, each with the earlier prefixes that its request holds."""
    p = msgspec.structs.replace(p, may_move="up")
    facts = msgspec.structs.replace(facts, requested=AUTO)
    idle = Snapshot(replicas={})
    for turn, p_good in enumerate(history):
        decision = decide(p, facts, Estimate(p_good=p_good, earlier=tuple(history[:turn])), idle)
        choose = next(r for r in p.routes if r.name == decision.route).choose if decision.route else None
        if choose is None or isinstance(decision.choice, Reject) or decision.choice.model not in choose.among:
            return
        answering = [name for name in choose.among if name in {c.model for c in decision.candidates}]
        if answering != list(choose.among):
            return
        tier = choose.among.index(decision.choice.model)
        floor = max((_tier(choose, earlier) for earlier in history[:turn]), default=0)
        assert tier >= floor


def _tier(choose: Choose, p_good: dict[str, float]) -> int:
    """An oracle that does not share code with the picker."""
    loss = {m: choose.relative_cost[m] + choose.loss_per_reference * (1 - p_good[m]) for m in choose.among}
    return choose.among.index(min(choose.among, key=lambda m: (loss[m], choose.among.index(m))))


OUTCOMES = st.builds(
    Outcome,
    failed=st.sampled_from(
        [None, "unreachable", "overloaded", "failed", "denied", "late", "lost", "refused", "cancelled"]
    ),
    sent=st.booleans(),
    content_sent=st.booleans(),
)


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS, st.lists(OUTCOMES, max_size=6))
def test_attempts_end_and_none_follows_content(
    p: Policy, facts: Facts, estimate: Estimate, world: Snapshot, outcomes: list[Outcome]
) -> None:
    decision = decide(p, facts, estimate, world)
    progress = begin(decision, p.resilience)
    for outcome in outcomes:
        progress = advance(progress, outcome)
    asked = [attempt.call for attempt in progress.attempts]
    assert asked == [step for step in decision.steps if step in asked]
    assert not any(attempt.outcome.content_sent for attempt in progress.attempts[:-1])
    assert all(attempt.outcome.failed for attempt in progress.attempts[:-1])
    assert len(asked) <= p.resilience.attempts
    assert len(outcomes) < p.resilience.attempts or progress.finished


LADDERS = st.fixed_dictionaries({name: st.sampled_from([0.0, 0.25, 0.5, 1.0]) | CHANCE for name in NAMES})


@settings(max_examples=150, deadline=None)
@given(policies(), FACTS, st.lists(st.tuples(LADDERS, LADDERS), min_size=1, max_size=3), WORLDS)
def test_an_estimate_is_left_open_exactly_where_whole_decisions_at_its_ends_part(
    p: Policy, facts: Facts, turns: list[tuple[dict[str, float], dict[str, float]]], world: Snapshot
) -> None:
    facts = msgspec.structs.replace(facts, requested=AUTO)
    *past, (low, high) = turns
    pasts = [tuple(pair[end] for pair in past) for end in (0, 1)]
    span = Span(Estimate(p_good=low, earlier=pasts[0]), Estimate(p_good=high, earlier=pasts[1]))

    found = left_open(field_of(p, facts, world), span)

    choices = [
        [decide(p, facts, Estimate(p_good=end, earlier=earlier), world).choice for end in (low, high)]
        for earlier in pasts
    ]
    parted = [isinstance(a, Call) and isinstance(b, Call) and a.model != b.model for a, b in choices]
    assert (len(past) in found) == any(parted)


@settings(max_examples=60, deadline=None)
@given(policies(), LADDERS, st.integers(0, 3), st.floats(0, 60))
def test_a_turn_of_the_past_counts_for_the_highest_tier_that_any_line_and_any_length_gave_it(
    p: Policy, p_good: dict[str, float], floor: int, before: float
) -> None:
    for route in [route for route in p.routes if route.choose is not None]:
        choose = msgspec.structs.replace(route.choose, loss_before=before)
        offer = offer_of(p, msgspec.structs.replace(route, choose=choose), "")
        prices, of, least = choose.prices, choose.target.of, min(floor, len(choose.among) - 1)
        costs = [
            choose.relative_cost,
            {name: price.input / prices[of].input for name, price in prices.items()},
            {name: price.output / prices[of].output for name, price in prices.items()},
        ]
        found = [
            min(choose.among[least:], key=lambda name: cost[name] + loss * (1 - p_good[name]))
            for cost in costs
            for loss in (choose.loss_per_reference, max(choose.loss_per_reference, before))
        ]
        assert tiers(offer, (p_good,), least) == [max(map(choose.among.index, found))]


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, ESTIMATES, WORLDS)
def test_a_decision_without_the_words_of_its_costs_is_the_same_decision(
    p: Policy, facts: Facts, estimate: Estimate, world: Snapshot
) -> None:
    field = field_of(p, facts, world)
    whole = decide_on(field, estimate)
    silent = tuple(msgspec.structs.replace(candidate, terms=()) for candidate in whole.candidates)
    assert decide_on(field, estimate, itemises=False) == msgspec.structs.replace(whole, candidates=silent)


@settings(max_examples=60, deadline=None)
@given(policies(), FACTS, WORLDS)
def test_what_a_decision_says_of_costs_comes_to_what_ordered_its_candidates(
    p: Policy, facts: Facts, world: Snapshot
) -> None:
    field = field_of(p, facts, world)
    said = {(c.model, c.replica): c.microusd for c in decide_on(field, Estimate(abstains="late")).candidates}
    for _, microusd, _, _, call in [stand for weighed in field.weighed for stand in weighed.stands] if said else ():
        assert abs(said[call.model, call.replica] - microusd) <= 2.0 + 1e-9 * abs(microusd)
