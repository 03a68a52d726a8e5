"""What a log's shadows teach: of whom, how well, with which weight; and that no line of them is heard that says nothing."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from pathlib import Path

import msgspec
import numpy as np
import pytest
from servers.decision_log_world import SAMPLE, settlement
from typer.testing import CliRunner

from classifiers.features.numbers import Numbers
from classifiers.outcomes.own import OutcomesRefused
from classifiers.training.lessons import Lesson, Lessons, arrayed
from gateway.cli import app
from gateway.decisions.lessons import lessons
from gateway.decisions.read import LogRefused, read_log
from gateway.decisions.record import DecisionRecord, FeedbackRecord, Record, ShadowRecord, recorded
from gateway.decisions.shadowed import MOST_WEIGHT
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Estimate
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import Policy
from policies.shadows.agreed import right_if_other, right_if_same
from policies.shadows.plan import Judge
from policies.shadows.sample import is_of, picks
from policies.snapshot import ReplicaState, Snapshot

MODELS = """
policy: 1
models:
  small: {at: 'http://s/v1', price: {input: $0.1/M, output: $0.4/M}, fits: {output: 1k}}
  large: {at: 'http://l/v1', price: {input: $2/M, output: $8/M}, fits: {output: 1k}}
  giant: {at: 'http://g/v1', price: {input: $9/M, output: $9/M}, fits: {output: 1k}}
  referee: {at: 'http://r/v1', price: {input: $2/M, output: $8/M}, can: [json_schema]}
routes:
  - name: rare
    when: {header.x-kind: rare}
    choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}
    explore: 50%
  - name: often
    choose: {by: difficulty, among: [small, large], target: {cost: 40% of large}}
    explore: 50%
"""
SHADOWS = """
shadows:
  - {name: of-rare, of: rare, to: small, sample: 10%, limits: {cost: $5/day}}
  - {name: of-often, of: often, to: small, sample: 100%, limits: {cost: $5/day}}
"""
OF_THREE = msgspec.structs.replace(SAMPLE, p_good={**SAMPLE.p_good, "giant": tuple(0.6 + i / 500 for i in range(200))})
P_GOOD = {"small": 0.3, "large": 0.9}
CALLS = {"small": Call("small", "http://s/v1"), "large": Call("large", "http://l/v1")}
EXACT, OTHER = {"exact": 0, "normalised": 0}, {"exact": 100, "normalised": 100}


@cache
def policy_of(text: str = MODELS + SHADOWS) -> Policy:
    found = load_policy(text, name="test.yaml", calibrate=lambda _: OF_THREE)
    assert found.policy is not None, found.problems
    return found.policy


def numbers(i: int) -> Numbers:
    return Numbers(made_by="made-up/0", vector=i.to_bytes(4), lexical=b"")


def decided(i: int, kind: str = "often", draw: float = 0.0, **outcome: object) -> DecisionRecord:
    policy = policy_of()
    facts = Facts(requested="auto", prompt_tokens=500, headers={"x-kind": kind}, prefix=f"{i:08x}")
    estimate = Estimate(p_good=P_GOOD, artefact="made-up")
    states = {name: (ReplicaState(replica=call.replica),) for name, call in CALLS.items()}
    snapshot = Snapshot(replicas=states, now=1_800_000_000.0 + i, draw=draw)
    decision = decide(policy, facts, estimate, snapshot)
    assert isinstance(decision.choice, Call)
    told = {"answered_by": CALLS[decision.choice.model], **outcome}
    return recorded(facts, estimate, snapshot, decision, settlement(i, **told), numbers=numbers(i))


def answered(record: DecisionRecord) -> str:
    assert record.outcome.answered_by is not None
    return record.outcome.answered_by.model


def compared(record: DecisionRecord, shadow: str = "of-often", **told: object) -> ShadowRecord:
    known: dict[str, object] = {
        "at": record.at, "request_id": record.request_id, "tenant": record.tenant, "shadow": shadow,
        "route": record.decision.route, "policy_hash": record.decision.policy_hash, "primary": answered(record),
        "model": "small", "probability": 1.0, "differs": OTHER,
    }  # fmt: skip
    return ShadowRecord(**{**known, **told})  # type: ignore[arg-type]


def rated(record: DecisionRecord, score: float) -> FeedbackRecord:
    return FeedbackRecord(at=record.at, request_id=record.request_id, tenant=record.tenant, score=score)


def taught(records: Iterable[Record], policy: Policy) -> Lessons:
    kept = list(records)
    return lessons(lambda: iter(kept), lambda _: policy, "log")


def policies_of_nobody(digest: str) -> Policy:
    raise FileNotFoundError(digest)


def test_comparisons_of_decisions_without_a_policy_are_not_said_to_teach_nothing() -> None:
    record = decided(0)

    told = lessons(lambda: iter([record, compared(record)]), policies_of_nobody, "log")

    assert (told.without_policy, told.unheard) == (1, 0)


SAME_RIGHT = right_if_same(0.9, 0.3)


@pytest.mark.parametrize(
    ("worth", "told", "large", "small"),
    [
        (None, {"differs": {**OTHER, "judge": 100}}, 1.0, 0.0),
        (None, {"differs": {**OTHER, "judge": -100}}, 0.0, 1.0),
        (None, {"differs": {**OTHER, "judge": 0}}, 0.6, 0.6),
        (None, {"differs": {**OTHER, "judge": 0}, "comes_to": "same"}, SAME_RIGHT, SAME_RIGHT),
        (None, {"comes_to": "same"}, SAME_RIGHT, SAME_RIGHT),
        (None, {"comes_to": "same", "differs": {}}, SAME_RIGHT, SAME_RIGHT),
        (None, {"comes_to": "other"}, right_if_other(0.9, 0.3), right_if_other(0.3, 0.9)),
        (None, {"comes_to": "other", "differs": {"misshapen": 100}}, 0.9, 0.0),
        (None, {"differs": OTHER}, None, None),
        (None, {"differs": EXACT}, None, None),
        (None, {"differs": {"structure": 0}}, None, None),
        (0.25, {"differs": EXACT}, 0.25, 0.25),
        (0.25, {"differs": {"exact": 100, "structure": 0}}, 0.25, 0.25),
        (1.0, {"comes_to": "same"}, 1.0, 1.0),
        (1.0, {"comes_to": "other"}, 1.0, right_if_other(0.3, 1.0)),
        (0.0, {"comes_to": "other"}, 0.0, right_if_other(0.3, 0.0)),
        (1.0, {"differs": {"exact": 100, "misshapen": 100}}, 1.0, 0.0),
        (1.0, {"differs": {**OTHER, "judge": 100}}, 1.0, 0.0),
        (0.0, {"differs": {**OTHER, "judge": -100}}, 0.0, 1.0),
        (0.5, {"differs": {**OTHER, "judge": 0}}, 0.5, 0.5),
        (1.0, {"differs": OTHER}, 1.0, None),
    ],
)
def test_what_one_comparison_says_of_both_answers(worth, told, large, small) -> None:
    policy = policy_of()
    record = decided(1)
    said = [] if worth is None else [rated(record, worth)]

    rows = taught([record, *said, compared(record, **told)], policy).rows

    expected = {name: quality for name, quality in (("large", large), ("small", small)) if quality is not None}
    assert [row.quality for row in rows] == ([pytest.approx(expected)] if expected else [])
    if worth is not None:
        assert rows[0].stands == (frozenset({"small"}) if small is None else frozenset())


def test_an_answer_that_an_escalation_judged_is_known_and_one_that_it_gave_up_is_not_judged_again() -> None:
    policy = policy_of()
    kept = decided(1, judgement="kept", p_correct=0.8)
    given_up = decided(2, answered_by=CALLS["large"], abandoned_by=CALLS["small"], judgement="escalated", p_correct=0.3)

    found = taught([kept, compared(kept, comes_to="same"), given_up, compared(given_up, comes_to="same")], policy)

    assert [row.quality for row in found.rows] == [{"large": 0.8, "small": 0.8}, {"small": 0.3}]
    assert found.counts == {"large": {"judgement": 1}, "small": {"judgement": 1, "shadow": 1}}


@cache
def asked(size: int) -> Sequence[DecisionRecord]:
    """Half of each kind, answered by large in three of four cases."""
    dice = random.Random(3)
    return [decided(i, "rare" if i % 2 else "often", draw=dice.random()) for i in range(size)]


def world(policy: Policy, size: int, *, rates: float) -> Iterator[Record]:
    """Of the rare kind small is right in one case of five, of the other in nine of ten, and large always. Shadows are drawn as
    the policy says."""
    dice = random.Random(4)
    for i, record in enumerate(asked(size)):
        yield record
        right = {"large": True, "small": dice.random() < (0.2 if i % 2 else 0.9)}
        if dice.random() < rates:
            yield rated(record, float(right[answered(record)]))
        for pick in picks(policy.shadows, record.facts, record.decision, record.request_id):
            if is_of(pick.shadow, record.decision.route, answered(record)):
                judge = {"judge": 0 if right["small"] else 100} if pick.judged else {}
                is_mute = pick.shadow.judge is not None or pick.shadow.name == "mute"
                ends = "" if is_mute else "same" if right["small"] else "other"
                told = {"probability": pick.propensity, "differs": {**OTHER, **judge}, "comes_to": ends}
                yield compared(record, pick.shadow.name, model=pick.shadow.to, **told)


def alike(rows: Sequence[Lesson], *, weighs: bool) -> float:
    """The share of pairs of which the small answer is as good as the large one."""
    seen = [row for row in rows if "small" in row.weights]
    weights = [row.weights["small"] if weighs else 1.0 for row in seen]
    return float(np.average([row.quality["small"] > 0.5 for row in seen], weights=weights))


TWICE = SHADOWS + "  - {name: again, of: rare, to: small, sample: 10%, limits: {cost: $5/day}}\n"
JUDGED = """
shadows:
  - name: of-rare
    of: rare
    to: small
    sample: 20%
    limits: {cost: $5/day}
    compare: [exact, {judge: referee, of: 20%}]
  - name: of-often
    of: often
    to: small
    sample: 20%
    limits: {cost: $5/day}
    compare: [exact, {judge: referee, of: 100%}]
"""
BESIDE = (
    JUDGED
    + """
  - {name: mute, of: rare, to: small, sample: 100%, limits: {cost: $5/day}}
  - name: of-another
    of: rare
    to: giant
    sample: 100%
    limits: {cost: $5/day}
    compare: [exact, {judge: referee, of: 100%}]
"""
)


@pytest.mark.parametrize(
    ("shadows", "rates"),
    [(SHADOWS, 0.0), (SHADOWS, 0.5), (SHADOWS, 1.0), (TWICE, 0.0), (TWICE, 0.5), (JUDGED, 0.0), (BESIDE, 0.0)],
)
def test_kinds_of_which_one_in_ten_is_shadowed_count_as_much_as_those_of_which_all_are(
    shadows: str, rates: float
) -> None:
    policy, size = policy_of(MODELS + shadows), 4_000
    rows = taught(world(policy, size, rates=rates), policy).rows

    kinds = {numbers(i).vector: i % 2 for i in range(size)}
    weight = [sum(row.weight for row in rows if kinds[row.numbers.vector] == kind) for kind in (0, 1)]

    assert abs(alike(rows, weighs=True) - (0.2 + 0.9) / 2) < 0.05
    assert abs(alike(rows, weighs=False) - (0.2 + 0.9) / 2) > 0.2
    assert weight[1] / weight[0] == pytest.approx(1.0, abs=0.15)


TWO_MODELS = """
shadows:
  - {name: a, of: often, to: small, sample: 10%, limits: {cost: $5/day}}
  - {name: b, of: often, to: giant, sample: 20%, limits: {cost: $5/day}}
"""


@pytest.mark.parametrize("score", [None, 1.0])
def test_over_all_ways_in_which_shadows_of_two_models_draw_a_question_counts_once_and_so_does_each_answer(
    score: float | None,
) -> None:
    policy = policy_of(MODELS.replace("among: [small, large]", "among: [small, large, giant]") + TWO_MODELS)
    record = decided(1)
    shares = {plan.name: (plan.to, plan.sample) for plan in policy.shadows}
    counts: Counter[str] = Counter()
    for drawn in product((True, False), repeat=len(shares)):
        chance, records = record.probability, [record, *([] if score is None else [rated(record, score)])]
        for (name, (model, sample)), draws in zip(shares.items(), drawn, strict=True):
            chance *= sample if draws else 1 - sample
            if draws:
                records.append(compared(record, name, model=model, probability=sample, comes_to="same"))
        for row in taught(records, policy).rows:
            counts["question"] += chance * row.weight
            for head in row.quality:
                counts[head] += chance * row.weights.get(head, row.weight)

    assert counts == pytest.approx(dict.fromkeys(("question", "small", "large", "giant"), 1.0))


NONSENSE: Sequence[dict[str, object]] = (
    {"request_id": "req_of_nobody"},
    {"tenant": "another"},
    {"primary": "small"},
    {"primary": "gone"},
    {"model": "gone"},
    {"model": "large"},
    {"model": "giant"},
    {"failed": "stream_cut"},
    {"differs": {}, "comes_to": ""},
    {"differs": {"judge": 50}, "comes_to": ""},
    {"differs": {"edit": 0, "embedding": 0}, "comes_to": ""},
    {"probability": 0.0},
    {"probability": -1.0},
    {"probability": 7.0},
    {"probability": float("nan")},
    {"shadow": "no such shadow", "comes_to": "", "differs": EXACT},
)


@pytest.mark.parametrize("told", NONSENSE, ids=str)
def test_a_line_that_says_nothing_of_two_models_of_this_route_is_counted_and_teaches_nothing(told) -> None:
    record = decided(1)

    found = taught([compared(record, **{"comes_to": "same", **told}), record], policy_of())

    assert (found.rows, dict(found.counts), found.unheard) == ([], {}, 1)


@pytest.mark.parametrize("answered_by", [None, Call("gone", "http://x/v1"), Call("referee", "http://r/v1")], ids=str)
def test_an_answer_of_nobody_or_of_a_model_that_the_route_does_not_choose_among_is_compared_for_nothing(
    answered_by,
) -> None:
    record = decided(1, answered_by=answered_by)
    line = compared(decided(1), primary=answered_by.model if answered_by else "large", comes_to="same")

    assert taught([record, line, rated(record, 1.0)], policy_of()).unheard == 1


def test_a_line_that_is_there_twice_and_a_decision_that_is_there_twice_are_heard_once() -> None:
    record = decided(1)
    line = compared(record, comes_to="same")

    found = taught([record, line, line, record], policy_of())

    assert found.counts == {"large": {"shadow": 1}, "small": {"shadow": 1}}
    assert (len(found.rows), found.unheard) == (1, 0)


def test_a_decision_that_is_there_twice_and_rated_teaches_once_and_one_without_a_policy_is_left_out_once() -> None:
    record = decided(1)
    log = [record, decided(2), record, rated(record, 1.0)]

    found = taught(log, policy_of())
    without = lessons(lambda: iter(log), policies_of_nobody, "log")

    assert (len(found.rows), found.counts) == (1, {"large": {"feedback": 1}})
    assert without.without_policy == 2


@pytest.mark.parametrize("told", [{"differs": {**OTHER, "judge": 100}}, {"comes_to": "same"}])
def test_a_comparison_that_says_something_is_not_said_to_teach_nothing_where_numbers_are_missing(told) -> None:
    record = msgspec.structs.replace(decided(1), numbers=None)

    found = taught([record, compared(record, **told)], policy_of())

    assert (found.rows, found.numberless, found.unheard) == ([], 1, 0)
    with pytest.raises(OutcomesRefused) as refused:
        arrayed(found, ("small", "large"), "made-up")
    assert "1 more have no numbers" in str(refused.value)
    assert "shadows" not in str(refused.value)


def test_a_failed_comparison_is_not_said_to_be_of_prose_alone() -> None:
    record = decided(1)

    found = taught([record, compared(record, failed="timeout")], policy_of())

    with pytest.raises(OutcomesRefused, match="1 comparisons by shadows taught nothing: they failed"):
        arrayed(found, ("small", "large"), "made-up")


def test_several_shadows_of_one_question_say_their_mean_and_it_stays_one_question() -> None:
    policy, record = policy_of(MODELS + TWICE), decided(1)

    found = taught(
        [record, compared(record, differs={"judge": 100}), compared(record, "again", differs={"judge": -100})], policy
    )

    assert [row.quality for row in found.rows] == [{"large": 0.5, "small": 0.5}]
    assert found.counts == {"large": {"shadow": 1}, "small": {"shadow": 1}}


def test_no_answer_weighs_more_than_fifty_and_a_rated_question_as_much_as_without_a_shadow() -> None:
    policy = policy_of(MODELS + SHADOWS.replace("100%", "0.1%"))
    alone, beside = (
        taught([record, *said, compared(record, probability=0.001, comes_to="same")], policy).rows[0]
        for record, said in ((decided(1), []), (decided(2), [rated(decided(2), 1.0)]))
    )

    assert (alone.weight, alone.weights) == (MOST_WEIGHT, {"large": MOST_WEIGHT, "small": MOST_WEIGHT})
    assert beside.weight == pytest.approx(1 / decided(2).probability)
    assert beside.weights == {"small": MOST_WEIGHT}


def test_of_a_shadow_with_a_judge_its_verdicts_alone_are_heard_but_of_the_judges_own_answers() -> None:
    """What it was not shown, or did not say, is missing; were agreement heard all the same, models would seem alike."""
    judged, record = policy_of(MODELS + JUDGED), decided(1)
    shadows = [msgspec.structs.replace(plan, judge=Judge("large", 0.5)) for plan in judged.shadows]
    by_itself = msgspec.structs.replace(judged, shadows=tuple(shadows))

    assert taught([record, compared(record, comes_to="same")], judged).rows == []
    assert taught([record, rated(record, 1.0), compared(record, differs=EXACT)], judged).rows[0].quality == {
        "large": 1.0
    }
    (heard,) = taught([record, compared(record, comes_to="same")], by_itself).rows
    assert heard.weights["small"] == pytest.approx(1 / record.probability)


ROLLOUT = """
guardrails: {errors: {metric: error_rate, worse_by: 1pp}}
rollouts:
  - name: next
    unit: request
    change: CHANGE
    steps: [{shadow: 100%, until: {pairs: 9}}, {traffic: 50%, for: 1h}]
    watch: [errors]
"""


@pytest.mark.parametrize(
    ("change", "heard"),
    [("{routes.often.choose.target: {cost: 90% of large}}", 1), ("{models.small.serves: another}", 0)],
)
def test_a_rollouts_shadow_is_heard_where_it_asked_a_model_as_the_policy_has_it(change: str, heard: int) -> None:
    policy, record = policy_of(MODELS + ROLLOUT.replace("CHANGE", change)), decided(1)

    found = taught([record, compared(record, "rollout next", probability=0.5, comes_to="same")], policy)

    assert len(found.rows) == heard
    for row in found.rows:
        assert row.weight == pytest.approx(1 / (0.5 * record.probability))


def test_estimates_that_are_no_chances_and_none_at_all_raise_nothing() -> None:
    record = decided(1)
    for p_good in ({}, {"small": -3.0, "large": 1e300}, {"small": 1.0, "large": 0.0}):
        odd = msgspec.structs.replace(record, estimate=msgspec.structs.replace(record.estimate, p_good=p_good))
        for ends in ("same", "other"):
            (row,) = taught([odd, compared(odd, comes_to=ends)], policy_of()).rows
            assert all(0 <= quality <= 1 for quality in row.quality.values())


@pytest.mark.parametrize(
    ("as_it_is", "instead"),
    [(b'"probability":1.0', b'"probability":NaN'), (b'"probability":1.0', b'"probability":null'),
     (b'"probability":1.0', b'"probability":1e999'), (b'"exact":100', b'"exact":"all"'),
     (b'"comes_to":"same"', b'"comes_to":"both"')],
)  # fmt: skip
def test_a_shadows_line_that_is_damaged_is_refused_by_its_place_and_one_that_was_cut_at_the_end_is_left_out(
    as_it_is: bytes, instead: bytes, tmp_path: Path
) -> None:
    record = decided(1)
    lines = [msgspec.json.encode(one) for one in (record, compared(record, comes_to="same"))]
    segment = tmp_path / "20260101T120000.000000-000000.jsonl"

    segment.write_bytes(lines[0] + b"\n" + lines[1].replace(as_it_is, instead) + b"\n" + lines[0])
    with pytest.raises(LogRefused, match=r"jsonl:2: this is no record of a decision log"):
        taught(read_log(tmp_path), policy_of())
    for length in range(1, len(lines[1]), 40):
        segment.write_bytes(lines[0] + b"\n" + lines[1][:length])
        assert taught(read_log(tmp_path), policy_of()).rows == []


@pytest.mark.parametrize("command", ["train", "calibrate"])
def test_the_commands_say_that_they_learn_from_shadows(command: str) -> None:
    told = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})

    assert "feedback, escalations or shadows" in told.stdout
