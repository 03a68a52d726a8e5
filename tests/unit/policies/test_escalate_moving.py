"""What an escalation means for the turns after it: the conversation stays above, wherever the policy lets it move at all."""

import msgspec
import pytest
from deciding_world import LARGE, MEDIUM, SMALL, choose, model, policy, world
from hypothesis import example, given, settings
from hypothesis import strategies as st

from policies.decide import decide
from policies.decision import Call, Decision
from policies.escalate.plan import Escalation
from policies.escalate.prior import PRIOR
from policies.estimates import Estimate, Span
from policies.facts import Facts
from policies.policy import MayMove, Policy, Route, StayWith, Target
from policies.snapshot import ReplicaState, Snapshot
from policies.steering.sight import Decided, sight
from policies.unsettled import unsettled

LADDER = ("small", "medium", "large")
EXPERT = model("expert", 9_000_000)
PLAN = Escalation(name="careful", to="large", under=0.7, signals=frozenset({"empty"}), weights={"": PRIOR})
COST = Target("cost", 40, "large")
EASY = {"small": 0.98, "medium": 0.99, "large": 0.99}
HARD = {"small": 0.05, "medium": 0.1, "large": 0.99}
IDLE = Snapshot(replicas={})


def rules(may_move: MayMove = "up", stay_with: StayWith = "tier", to: str = "large", **route: object) -> Policy:
    listed = (SMALL, MEDIUM, LARGE)
    fields: dict[str, object] = route or {"choose": choose(*listed)}
    default = Route(name="default", escalate="careful", **fields)  # type: ignore[arg-type]
    made = policy(*listed, EXPERT, routes=[default], may_move=may_move)
    plan = msgspec.structs.replace(PLAN, to=to)
    return msgspec.structs.replace(made, escalations={"careful": plan}, stay_with=stay_with)


def decided(
    found: Policy, escalated_to: str = "large", estimate: Estimate | None = None, snapshot: Snapshot = IDLE
) -> Decision:
    facts = Facts(prompt_tokens=200, escalated_to=escalated_to)
    return decide(found, facts, estimate or Estimate(p_good=EASY, earlier=(EASY,)), snapshot)


def model_of(decision: Decision) -> str:
    assert isinstance(decision.choice, Call)
    return decision.choice.model


@pytest.mark.parametrize("may_move", ["up", "never"])
@pytest.mark.parametrize("stay_with", ["tier", "model"])
def test_the_turn_after_an_escalation_stays_with_the_larger_model(may_move: MayMove, stay_with: StayWith) -> None:
    found = rules(may_move, stay_with)
    assert model_of(decided(found, escalated_to="")) == "small"
    decision = decided(found)
    assert (model_of(decision), decision.reason) == ("large", "large: the conversation was escalated before")
    assert (decision.hold, decision.unheld) == (None, "large is not below large")


def test_one_that_moves_freely_goes_back() -> None:
    assert model_of(decided(rules("freely"))) == "small"


def test_where_the_history_is_not_known_the_escalation_still_is() -> None:
    """A client that sends the last turn alone, and names its conversation."""
    assert model_of(decided(rules(), estimate=Estimate(p_good=EASY))) == "large"
    unsure = decided(rules(), escalated_to="medium", estimate=Estimate(abstains="late"))
    assert (model_of(unsure), unsure.reason) == ("large", "large: unsure (late)")


def test_a_route_that_uses_one_model_goes_where_its_escalation_went_and_falls_back_on_it() -> None:
    found = rules(use="small")
    decision = decided(found)
    assert (model_of(decision), decision.reason) == ("large", "large: the conversation was escalated before")
    down = world(large=[ReplicaState(replica="http://large/v1", ready=False)])
    assert model_of(decided(found, snapshot=down)) == "small"


def test_a_model_beside_the_ladder_is_asked_first_and_the_ladder_after_it() -> None:
    decision = decided(rules(to="expert"), escalated_to="expert")
    assert model_of(decision) == "expert"
    down = world(expert=[ReplicaState(replica="http://expert/v1", ready=False)])
    assert model_of(decided(rules(to="expert"), escalated_to="expert", snapshot=down)) == "small"


@pytest.mark.parametrize("gone", ["expert", "nobody", "requested"])
def test_a_model_that_the_route_has_nothing_to_do_with_changes_nothing(gone: str) -> None:
    found = rules()
    assert decided(found, escalated_to=gone) == decided(found, escalated_to="")


def test_a_named_model_is_honoured_after_an_escalation() -> None:
    facts = Facts(requested="small", prompt_tokens=200, escalated_to="large")
    assert model_of(decide(rules(), facts, Estimate(), IDLE)) == "small"


def test_an_escalation_to_the_middle_leaves_the_way_up_open_and_the_way_down_shut() -> None:
    found = rules(to="medium")
    assert model_of(decided(found, escalated_to="medium")) == "medium"
    hard = Estimate(p_good=HARD, earlier=(EASY,))
    assert model_of(decided(found, escalated_to="medium", estimate=hard)) == "large"


CHANCE = st.floats(0.01, 0.99)
TURNS = st.lists(st.tuples(CHANCE, CHANCE, CHANCE, st.booleans()), min_size=2, max_size=7)


@settings(max_examples=150, deadline=None)
@given(TURNS, st.sampled_from(["tier", "model"]), st.sampled_from(["up", "never"]))
@example([(0.5, 0.5, 0.5, False), (0.40625, 0.125, 0.75, False), (0.5, 0.5, 0.5, False)], "tier", "up")
def test_nobody_comes_down_whatever_is_escalated_and_however_hard_turns_are(
    turns: list[tuple[float, float, float, bool]], stay_with: StayWith, may_move: MayMove
) -> None:
    found, tiers, noted, earlier = rules(may_move, stay_with), list[str](), "", list[dict[str, float]]()
    for small, more, most, fails in turns:
        medium = small + (1 - small) * more
        chances = {"small": small, "medium": medium, "large": medium + (1 - medium) * most}
        facts = Facts(prompt_tokens=100 * len(tiers) + 50, escalated_to=noted)
        decision = decide(found, facts, Estimate(p_good=chances, earlier=tuple(earlier)), IDLE)
        if decision.hold is not None and fails:
            noted = "large"
        tiers.append("large" if decision.hold is not None and fails else model_of(decision))
        earlier.append(chances)
    places = [LADDER.index(tier) for tier in tiers]
    assert places == sorted(places)


def test_what_a_line_could_not_have_changed_does_not_move_it() -> None:
    found = rules()
    [route] = found.routes
    assert route.choose is not None
    facts, estimate = Facts(prompt_tokens=200, escalated_to="large"), Estimate(p_good=HARD, earlier=(EASY,))
    one = sight(found, route, route.choose, Decided(facts, estimate, decide(found, facts, estimate, IDLE)), COST)
    assert one is not None
    assert (one.rises, one.spent, one.start) == ((), one.base, one.base)


def test_a_line_is_told_of_a_moved_conversation_that_had_to_be_answered_below() -> None:
    found = rules()
    [route] = found.routes
    assert route.choose is not None
    down = world(large=[ReplicaState(replica="http://large/v1", ready=False)])
    facts, estimate = Facts(prompt_tokens=200, escalated_to="large"), Estimate(p_good=EASY)
    decision = decide(found, facts, estimate, down)
    one = sight(found, route, route.choose, Decided(facts, estimate, decision), COST)
    assert model_of(decision) != "large"
    assert one is not None
    assert one.rises == ()


def test_nothing_is_open_about_a_conversation_that_was_escalated_to_the_top() -> None:
    """So the second stage of the classifier has nothing to say of it."""
    span = Span(Estimate(p_good=EASY), Estimate(p_good=HARD))
    assert unsettled(rules(), Facts(prompt_tokens=200), span, IDLE) == (0,)
    assert unsettled(rules(), Facts(prompt_tokens=200, escalated_to="large"), span, IDLE) == ()
