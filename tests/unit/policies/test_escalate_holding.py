"""Which answers are held back, what follows from a verdict, and when a route is left alone."""

import pytest
from deciding_world import LARGE, MEDIUM, SMALL, choose, policy, world

from policies.advance import Outcome, advance, begin
from policies.decide import decide
from policies.decision import Call, Decision, Hold
from policies.escalate import ledger
from policies.escalate.ledger import Ledger
from policies.escalate.plan import Escalation, Weights
from policies.escalate.prior import PRIOR
from policies.escalate.weights_file import read_weights, write_weights
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Policy, Resilience, Route
from policies.snapshot import ReplicaState, Snapshot

PLAN = Escalation(name="careful", to="large", under=0.7, signals=frozenset({"empty"}), weights={"": PRIOR})
EASY = Estimate(p_good={"small": 0.99, "medium": 0.99, "large": 0.99})
HARD = Estimate(p_good={"small": 0.01, "medium": 0.02, "large": 0.99})


def escalating(route: Route | None = None) -> Policy:
    listed = (SMALL, MEDIUM, LARGE)
    default = Route(name="default", choose=choose(*listed), escalate="careful")
    made = policy(*listed, routes=[route or default])
    return type(made)(
        hash=made.hash,
        name=made.name,
        models=made.models,
        routes=made.routes,
        escalations={"careful": PLAN},
    )


def decided(
    facts: Facts | None = None, estimate: Estimate = EASY, snapshot: Snapshot | None = None, route: Route | None = None
) -> Decision:
    return decide(escalating(route), facts or Facts(), estimate, snapshot or world())


def test_the_models_below_are_held_back_and_the_replicas_above_are_named() -> None:
    hold = decided().hold
    assert hold == Hold("careful", ("small", "medium"), (Call("large", "http://large/v1"),))


def test_a_request_that_goes_up_anyway_is_not_held_back() -> None:
    decision = decided(estimate=HARD)
    assert (decision.hold, decision.unheld) == (None, "large is not below large")


def test_several_answers_are_not_held_back() -> None:
    decision = decided(Facts(choices=2))
    assert (decision.hold, decision.unheld) == (None, "more than one answer is asked for")


def test_nobody_is_held_back_for_a_model_that_cannot_take_over() -> None:
    down = world(large=[ReplicaState(replica="http://large/v1", ready=False)])
    assert decided(snapshot=down).unheld == "large cannot take this request now"
    narrow = Facts(allowed_models=frozenset({"small", "medium"}))
    assert decided(narrow).unheld == "large cannot take this request now"


def test_a_route_that_does_not_pay_is_left_alone() -> None:
    off = Snapshot(replicas={}, escalations_off={"default": "it charges 120% of what the large model alone would"})
    decision = decided(snapshot=off)
    assert decision.hold is None
    assert decision.unheld.startswith("careful does not pay: it charges 120%")


def test_the_model_above_is_no_fallback_of_a_route_that_does_not_list_it() -> None:
    decision = decided(route=Route(name="plain", use="small", fallback=(), escalate="careful"))
    assert decision.steps == (Call("small", "http://small/v1"),)
    assert decision.hold is not None
    assert decision.hold.to == (Call("large", "http://large/v1"),)


S, T, L, M = Call("small", "a"), Call("small", "b"), Call("large", "c"), Call("large", "d")
HOLD = Hold("careful", ("small",), (L, M))


def held(*steps: Call) -> Decision:
    return Decision(steps=steps, route="r", reason="", policy_hash="", hold=HOLD)


def test_a_given_up_answer_goes_to_the_larger_model_even_when_no_attempt_is_left() -> None:
    progress = advance(begin(held(S), Resilience(attempts=1)), Outcome(given_up="part", sent=True))
    assert (progress.step, progress.left, progress.holds) == (L, (M,), None)


@pytest.mark.parametrize("failed", ["overloaded", "refused", "lost", "denied", "failed", "late", "unreachable"])
def test_when_nobody_above_answers_a_whole_answer_that_was_kept_is_sent(failed: str) -> None:
    progress = advance(begin(held(S, T), Resilience()), Outcome(given_up="whole", sent=True))
    while progress.step is not None:
        assert progress.step.model == "large"
        progress = advance(progress, Outcome(failed=failed, sent=True))
    assert progress.sends_kept
    assert progress.answered_by == S


def test_of_a_part_the_small_model_is_asked_once_more_and_nobody_judges_it() -> None:
    progress = advance(begin(held(S), Resilience()), Outcome(given_up="part", sent=True))
    progress = advance(progress, Outcome(failed="refused", sent=True))
    assert (progress.step, progress.holds) == (S, None)
    assert advance(progress, Outcome(failed="overloaded", sent=True)).finished


def test_a_held_answer_that_was_lost_is_followed_by_the_larger_model() -> None:
    progress = advance(begin(held(S), Resilience()), Outcome(failed="lost", sent=True))
    assert (progress.step, progress.holds) == (L, None)


def test_a_request_that_was_refused_is_not_tried_on_a_larger_model() -> None:
    assert advance(begin(held(S), Resilience()), Outcome(failed="refused", sent=True)).finished


def test_a_route_pauses_when_escalating_brings_nothing_better() -> None:
    account = Ledger()
    for _ in range(ledger.FEWEST_JUDGED):
        account = ledger.learnt(account, gained=False)
    assert account.is_off
    assert account.why_off == "of the latest 20 escalations 0 got a better answer"


def test_a_route_pauses_when_both_together_charge_more_than_the_large_model_alone() -> None:
    account = Ledger()
    for _ in range(2 * ledger.FEWEST_JUDGED):
        account = ledger.paid(account, spent=120, alone=100)
    assert account.why_off == "it charges 120% of what the large model alone would"


def test_models_without_a_price_never_pause_a_route() -> None:
    account = Ledger()
    for _ in range(500):
        account = ledger.paid(account, spent=0, alone=0)
    assert not account.is_off


def test_weights_come_back_from_their_file_as_they_went_in() -> None:
    weights = {"small": Weights(bias=0.5, measures={"dip": 1.25}, estimate=0.3, usual=1.0)}
    assert read_weights(write_weights(weights, {"fitted_on": "2026-11-29"})).models == weights


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "no file of weights"),
        (b"[]", "no file of weights"),
        (b'{"format": 2, "models": {}}', "format 2 of weights"),
        (b'{"format": 1, "models": {"m": {"bias": 0, "measures": {"dips": 1}}}}', "dips, which is no measure"),
        (b'{"format": 1, "models": {"m": {"bias": 1e9}}}', "weighs more than 50"),
        (b'{"format": 1, "models": {"m": {"bias": 0}}, "code": "x"}', "unknown field"),
        (b"[" * 100_000, "no file of weights"),
    ],
)
def test_a_file_that_holds_no_weights_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_weights(data)
