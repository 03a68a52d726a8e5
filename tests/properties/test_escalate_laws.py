"""Laws of judging an answer: probabilities, forms, sums, shares of escalations, and the fold that follows a verdict."""

from typing import Any

import jsonschema
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from policies.advance import Outcome, Progress, advance, begin
from policies.decision import Call, Decision, Hold
from policies.escalate import ledger
from policies.escalate.ledger import Ledger
from policies.escalate.measures import MEASURES
from policies.escalate.plan import Escalation
from policies.escalate.prior import PRIOR
from policies.escalate.said import Said, Wanted
from policies.escalate.shape import fits
from policies.escalate.signals import signals_of
from policies.escalate.sums import equations, false_sums
from policies.escalate.tokens import dip, quantile
from policies.escalate.verdict import verdict
from policies.policy import Resilience

LOGPROBS = st.lists(st.floats(-20, 0), min_size=1, max_size=60)
EVERY_SIGNAL = frozenset(kind for kind, _ in MEASURES.values())
PLAN = Escalation(name="e", to="large", under=0.7, signals=EVERY_SIGNAL, weights={"": PRIOR})


@given(LOGPROBS, st.floats(0, 1))
def test_a_quantile_is_one_of_the_values_and_grows_with_its_share(values: list[float], share: float) -> None:
    found = quantile(values, share)
    assert found in values
    assert quantile(values, 0) == min(values) <= found <= max(values) == quantile(values, 1)


@given(LOGPROBS, st.integers(1, 12))
def test_a_dip_lies_between_the_lowest_value_and_the_mean(values: list[float], stretch: int) -> None:
    assume(len(values) >= stretch)
    naive = min(sum(values[i : i + stretch]) / stretch for i in range(len(values) - stretch + 1))
    assert abs(dip(values, stretch) - naive) < 1e-9


@given(LOGPROBS, st.floats(0, 10), st.text(max_size=80))
def test_less_likely_tokens_never_make_an_answer_likelier_to_be_right(
    values: list[float], less: float, text: str
) -> None:
    sure = signals_of(Said(text=text, logprobs=tuple(values), tokens=len(values)), Wanted())
    unsure = signals_of(Said(text=text, logprobs=tuple(v - less for v in values), tokens=len(values)), Wanted())
    assert verdict(PLAN, "small", unsure).p_correct <= verdict(PLAN, "small", sure).p_correct + 1e-9


@given(st.text(), st.text(), st.sampled_from(["", "stop", "length", "tool_calls", "content_filter"]), st.booleans())
def test_whatever_was_said_there_is_a_verdict(text: str, question: str, ending: Any, as_json: bool) -> None:
    wanted = Wanted(question=question, json=as_json, schema={"type": "object"} if as_json else None)
    found = verdict(PLAN, "small", signals_of(Said(text=text, tokens=len(text), ending=ending), wanted))
    assert 0 < found.p_correct < 1
    assert found.escalates == (found.p_correct < PLAN.under)


@given(st.text(max_size=60), st.sampled_from(sorted(EVERY_SIGNAL)))
def test_a_signal_that_is_not_looked_at_changes_nothing(text: str, ignored: Any) -> None:
    plan = Escalation(name="e", to="l", under=0.7, signals=EVERY_SIGNAL - {ignored}, weights={"": PRIOR})
    parts = {name for name, (kind, _) in MEASURES.items() if kind == ignored}
    zeroed = {name: weight for name, weight in PRIOR.measures.items() if name not in parts}
    without = Escalation(
        name="e", to="l", under=0.7, signals=EVERY_SIGNAL, weights={"": type(PRIOR)(bias=PRIOR.bias, measures=zeroed)}
    )
    signals = signals_of(Said(text=text, ending="stop"), Wanted())
    assert verdict(plan, "m", signals).p_correct == verdict(without, "m", signals).p_correct


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from([0.5, 2.0]) | st.sampled_from(["a", "b", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
SCHEMAS = st.recursive(
    st.just({})
    | st.sampled_from(["object", "array", "string", "boolean", "null", "number", "integer"]).map(lambda t: {"type": t})
    | st.lists(st.sampled_from(["a", "b"]), min_size=1, max_size=2).map(lambda options: {"enum": options}),
    lambda inner: st.fixed_dictionaries(
        {},
        optional={
            "type": st.sampled_from(["object", "array"]),
            "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
            "required": st.lists(st.sampled_from("abc"), max_size=2, unique=True),
            "additionalProperties": st.booleans() | inner,
            "items": inner,
            "anyOf": st.lists(inner, min_size=1, max_size=2),
        },
    ),
    max_leaves=5,
)


@settings(max_examples=400)
@given(VALUES, SCHEMAS)
def test_a_form_is_judged_as_the_reference_library_judges_it(value: Any, schema: dict[str, Any]) -> None:
    assert fits(value, schema) == jsonschema.Draft202012Validator(schema).is_valid(value)


@given(VALUES, VALUES, st.dictionaries(st.sampled_from(["type", "properties", "required", "items", "anyOf"]), VALUES))
def test_a_client_may_send_any_schema(value: Any, schema: Any, spoilt: dict[str, Any]) -> None:
    assert fits(value, schema) in (True, False)
    assert fits(value, spoilt) in (True, False)


@given(st.integers(1, 9999), st.sampled_from("+-*/"), st.integers(1, 999), st.integers(0, 3))
def test_a_sum_that_holds_is_never_called_false(a: int, operation: str, b: int, places: int) -> None:
    value = {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[operation]
    assert false_sums(equations(f"so we get {a:,} {operation} {b} = {value:.{places}f} in all.")) == 0


@given(st.integers(1, 9999), st.sampled_from("+*"), st.integers(2, 999), st.integers(1, 50))
def test_a_sum_that_is_wrong_is_found(a: int, operation: str, b: int, off: int) -> None:
    value = {"+": a + b, "*": a * b}[operation] + off
    assert false_sums(equations(f"so we get {a} {operation} {b} = {value} in all.")) == 1


@given(st.text(alphabet="0123456789+-*/=() .,x$", max_size=300))
def test_hostile_sums_are_read_without_a_fault(text: str) -> None:
    assert false_sums(equations(text)) >= 0


@given(st.floats(0.01, 1), st.lists(st.booleans(), max_size=400))
def test_never_more_escalate_than_the_share_allows(at_most: float, wants: list[bool]) -> None:
    account, taken = Ledger(), 0
    for requests, want in enumerate(wants, 1):
        account = ledger.asked(account, at_most)
        if want and ledger.may_escalate(account):
            account, taken = ledger.escalated(account), taken + 1
        assert taken <= 1 + at_most * requests + 1e-6


@given(st.lists(st.booleans(), max_size=300), st.integers(0, 1000), st.integers(1, 1000))
def test_a_route_pauses_only_on_evidence_and_comes_back(gains: list[bool], spent: int, alone: int) -> None:
    account = Ledger()
    for i, gained in enumerate(gains):
        account = ledger.learnt(account, gained=gained)
        if i + 1 < ledger.FEWEST_JUDGED:
            assert not account.is_off
    if sum(gains) == len(gains):
        assert not account.is_off
    for _ in range(account.pause):
        account = ledger.asked(account, 0.1)
    assert not account.is_off


SMALL, ALSO, LARGE, LARGER = Call("small", "a"), Call("small", "b"), Call("large", "c"), Call("large", "d")
OUTCOMES = st.sampled_from(
    [
        Outcome(sent=True, content_sent=True),
        Outcome(failed="unreachable"),
        Outcome(failed="lost", sent=True),
        Outcome(failed="lost", sent=True, content_sent=True),
        Outcome(failed="refused", sent=True),
        Outcome(failed="denied", sent=True),
        Outcome(failed="cancelled", sent=True),
        Outcome(given_up="part", sent=True),
        Outcome(given_up="whole", sent=True),
    ]
)


@given(st.lists(OUTCOMES, min_size=8, max_size=8), st.booleans())
def test_a_cascade_comes_to_an_end_and_never_asks_after_content(outcomes: list[Outcome], uncertain: bool) -> None:
    hold = Hold("careful", ("small",), (LARGE, LARGER))
    decision = Decision(steps=(SMALL, ALSO, LARGE), route="r", reason="", policy_hash="", hold=hold)
    progress = begin(decision, Resilience(retry_uncertain=uncertain))
    asked: list[Call] = []
    for outcome in outcomes:
        if progress.step is None:
            break
        asked.append(progress.step)
        before = progress
        progress = advance(progress, outcome if progress.holds or not outcome.given_up else Outcome(failed="failed"))
        assert_follows(before, progress, outcome)
    assert progress.finished
    assert len(asked) <= 6
    assert sum(attempt.outcome.given_up != "" for attempt in progress.attempts) <= 1


def assert_follows(before: Progress, after: Progress, outcome: Outcome) -> None:
    if outcome.content_sent or outcome.failed == "cancelled":
        assert after.finished
        assert not after.sends_kept
    if outcome.given_up and before.holds:
        assert after.step == LARGE
        assert after.holds is None
    if after.sends_kept:
        assert after.answered_by in (SMALL, ALSO)
