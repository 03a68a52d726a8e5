"""Where a quick estimate suffices: both its ends come to one model; and no conversation goes down by that."""

from collections.abc import Mapping

import msgspec
from deciding_world import LARGE, SMALL, choose, policy
from hypothesis import given
from hypothesis import strategies as st

from policies.decide import decide, decide_on, first_choice
from policies.decision import Call
from policies.estimates import Estimate, Span
from policies.facts import Facts
from policies.field import Field, field_of
from policies.pickers.preference import known_places
from policies.policy import Line, Policy, Route
from policies.snapshot import ReplicaState, Snapshot
from policies.unsettled import unsettled

IDLE = Snapshot(replicas={})
ASK = Facts(prompt_tokens=100)
Chances = Mapping[str, float]


def with_gain(gain: float) -> Chances:
    return {"small": 0.5 - gain / 2, "large": 0.5 + gain / 2}


def span(low: float, high: float, *earlier: tuple[float, float]) -> Span:
    """Ends by their gains; `earlier` likewise."""
    past = [tuple(with_gain(gain) for gain in side) for side in zip(*earlier, strict=True)] if earlier else [(), ()]
    return Span(Estimate(p_good=with_gain(low), earlier=past[0]), Estimate(p_good=with_gain(high), earlier=past[1]))


def first(built: Policy, estimate: Estimate) -> str:
    choice = decide(built, ASK, estimate, IDLE).choice
    assert isinstance(choice, Call)
    return choice.model


def test_ends_on_one_side_of_the_line_suffice_and_ends_on_two_do_not() -> None:
    assert unsettled(policy(), ASK, span(0.0, 0.2), IDLE) == ()
    assert unsettled(policy(), ASK, span(0.6, 0.9), IDLE) == ()
    assert unsettled(policy(), ASK, span(0.2, 0.8), IDLE) == (0,)


def test_where_nothing_is_chosen_by_difficulty_nothing_is_open() -> None:
    plain = policy(SMALL, LARGE, routes=[Route(name="r", use="small")])
    assert unsettled(plain, ASK, span(-1.0, 1.0), IDLE) == ()
    assert unsettled(policy(), Facts(requested="large"), span(-1.0, 1.0), IDLE) == ()


def test_where_only_one_model_can_answer_nothing_is_open() -> None:
    down = Snapshot(replicas={"large": (ReplicaState(replica="http://large/v1", ready=False),)})
    assert unsettled(policy(), ASK, span(-1.0, 1.0), down) == ()


def test_an_open_prefix_of_the_past_is_told_alone() -> None:
    assert unsettled(policy(), ASK, span(0.0, 0.1, (0.0, 0.1), (0.2, 0.8)), IDLE) == (1,)
    assert unsettled(policy(), ASK, span(0.2, 0.8, (0.0, 0.1), (0.2, 0.8)), IDLE) == (1, 2)


def test_a_past_that_holds_the_conversation_above_settles_what_comes_after() -> None:
    assert unsettled(policy(), ASK, span(0.2, 0.8, (0.7, 0.9)), IDLE) == ()


def test_what_a_draw_chose_does_not_settle_anything() -> None:
    route = Route(name="r", choose=choose(SMALL, LARGE), explore=0.5)
    explores = policy(SMALL, LARGE, routes=[route])
    for draw in (0.0, 0.1, 0.3, 0.6, 0.9):
        drawn = Snapshot(replicas={}, draw=draw)
        assert unsettled(explores, ASK, span(0.2, 0.8), drawn) == (0,)
        assert unsettled(explores, ASK, span(0.0, 0.1), drawn) == ()


def test_a_past_that_is_open_leaves_open_what_comes_after_by_either_of_its_ends() -> None:
    assert unsettled(policy(), ASK, span(0.2, 0.8, (0.9, 0.1)), IDLE) == (0, 1)
    assert unsettled(policy(), ASK, span(0.2, 0.8, (0.1, 0.9)), IDLE) == (0, 1)


def first_of(field: Field, estimate: Estimate) -> str:
    if field.offer is None or field.fault is not None:
        return ""
    known = known_places(field.policy, field.offer, field.facts, field.taken, estimate.earlier)
    return first_choice(field, field.offer, known, estimate)


GAIN = st.floats(-0.9, 0.9)
STATES = st.builds(
    ReplicaState,
    replica=st.sampled_from(["http://small/v1", "http://large/v1"]),
    ready=st.booleans(),
    queued_tokens=st.integers(0, 100_000),
    running=st.integers(0, 20),
    resident_tokens=st.integers(0, 100),
)


@given(st.lists(st.tuples(GAIN, st.booleans(), st.none() | GAIN), min_size=1, max_size=4), STATES, STATES)
def test_first_choices_are_those_of_whole_decisions(ends, small, large) -> None:
    estimates = [
        Estimate(
            p_good={} if abstains else with_gain(gain),
            abstains="late" if abstains else "",
            earlier=() if past is None else (with_gain(past),),
        )
        for gain, abstains, past in ends
    ]
    world, built = Snapshot(replicas={"small": (small,), "large": (large,)}), policy()
    choices = [decide(built, ASK, estimate, world).choice for estimate in estimates]
    expected = [choice.model if isinstance(choice, Call) else "" for choice in choices]
    field = field_of(built, ASK, world)
    assert [first_of(field, estimate) for estimate in estimates] == expected
    assert [decide_on(field, estimate).choice for estimate in estimates] == choices


LOSS = st.floats(0.5, 6.0)


@given(st.tuples(GAIN, GAIN, GAIN, GAIN), LOSS, LOSS, st.floats(1.0, 2.0))
def test_the_floor_that_a_turn_sets_later_is_no_lower_than_where_it_was_answered(
    gains: tuple[float, ...], then: float, now: float, higher: float
) -> None:
    low, high = min(gains[:2]), max(gains[:2])
    likely, full = (min(max(gain, low), high) for gain in gains[2:])
    before = policy().redrawn({"default": Line(then, then)})
    after = policy().redrawn({"default": Line(now, max(then, now) * higher)})

    open_then = unsettled(before, ASK, span(low, high), IDLE)
    answered = first(before, Estimate(p_good=with_gain(full if open_then else likely)))
    open_now = unsettled(after, ASK, span(-0.9, -0.9, (low, high)), IDLE)
    past = with_gain(full if 0 in open_now else likely)
    later = first(after, Estimate(p_good=with_gain(-0.9), earlier=(past,)))

    assert not (answered == "large" and later == "small")


def test_the_estimate_of_a_prefix_that_was_in_doubt_holds_the_tier_for_doubt() -> None:
    ladder = choose(SMALL, LARGE, when_unsure="large")
    built = policy(SMALL, LARGE, routes=[Route(name="r", choose=ladder)])
    easy = with_gain(0.0)
    assert first(built, Estimate(p_good=easy, earlier=({},))) == "large"
    assert first(built, Estimate(p_good=easy, earlier=(easy,))) == "small"


def test_which_stage_spoke_comes_back_from_json() -> None:
    told = Estimate(p_good=with_gain(0.1), stage="quick", ends=(with_gain(0.0), with_gain(0.2)))
    assert msgspec.json.decode(msgspec.json.encode(told), type=Estimate) == told


def test_what_it_costs_to_leave_a_model_counts_in_a_first_choice() -> None:
    route = Route(name="r", choose=choose(SMALL, LARGE, loss=6.0))
    built, came_down = policy(SMALL, LARGE, may_move="freely", routes=[route]), []
    estimate = Estimate(p_good={"small": 0.9, "large": 0.95}, earlier=({"small": 0.1, "large": 0.9},))
    for history in (0, 30_000):
        facts = Facts(prompt_tokens=history + 50, history_tokens=history, max_tokens=50)
        field = field_of(built, facts, IDLE)
        choice = decide_on(field, estimate).choice
        assert isinstance(choice, Call)
        assert first_of(field, estimate) == choice.model
        came_down.append(choice.model == "small")
    assert came_down == [True, False]
