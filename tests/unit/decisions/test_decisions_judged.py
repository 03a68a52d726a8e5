"""Of an answer that was held back a log says enough to judge it again, and to learn from."""

import asyncio
import random
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest
from servers.decision_log_world import SAMPLE, TEXT, judged, keep_log, settlement
from typer.testing import CliRunner

from gateway.cli import app
from gateway.decisions.answers import answers
from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord, FeedbackRecord, Record
from gateway.decisions.replay import policies_beside, replay
from gateway.decisions.segments import segments_in
from gateway.request.settlement import Settlement
from policies.decision import Call
from policies.escalate.plan import Weights
from policies.escalate.task import Task
from policies.escalate.verdict import verdict_on
from policies.escalate.weights_file import read_weights
from policies.explain import held_back
from policies.language.compile import text_hash
from policies.language.kept import keep, restored
from policies.language.load import load_policy
from policies.policy import Policy

WEIGHED = TEXT.replace("to: large}", "to: large, weights: w.json}").replace("cost: 40% of", "cost: 9% of")
SHORTER = Weights(bias=0.2, measures={"length": -0.7})
WEIGHTS = {"small": Weights(bias=0.4, measures={"length": 0.1}, estimate=0.3, tasks={"number": SHORTER})}
SMALL, LARGE = Call("small", "http://s0/v1"), Call("large", "http://l0/v1")
EASY: dict[str, object] = {"requested": "auto", "needs": frozenset(), "prompt_tokens": 500, "prefix": ""}


def loaded(weights: Mapping[str, Weights] = WEIGHTS, text: str = WEIGHED) -> Policy:
    found = load_policy(text, name="test.yaml", calibrate=lambda _: SAMPLE, weigh=lambda _: weights)
    assert found.policy is not None, found.problems
    return found.policy


def came_to(policy: Policy, i: int, task: Task, measures: dict[str, float], p_good: float) -> Settlement:
    """As a live request settles: given up where the verdict says so."""
    found = verdict_on(policy.escalations["careful"], "small", measures, p_good, task)
    told = {"p_correct": found.p_correct, "weighed_as": found.weighed_as, "measures": measures}
    if found.escalates:
        return settlement(i, judgement="escalated", answered_by=LARGE, abandoned_by=SMALL, **told)
    return settlement(i, judgement="kept", answered_by=SMALL, **told)


async def written(folder: Path, count: int, weights: Mapping[str, Weights] = WEIGHTS) -> None:
    """Small answers right the more often the shorter they are; of other tasks the longer."""
    policy, kept, dice = loaded(weights), keep_log(folder), random.Random(5)
    kept.log.policy_loaded(policy, WEIGHED)
    for i in range(count):
        task: Task = "number" if i % 2 else "code"
        one = judged(policy, i, task=task, **EASY)
        length = round(dice.uniform(-2, 2), 4)
        done = came_to(policy, i, task, {"length": length}, one.estimate.p_good["small"])
        kept.log.settled(one, done)
        rating = "good" if (length < 0) == (task == "number") else "bad"
        kept.log.heard(FeedbackRecord(at=one.snapshot.now, request_id=f"req_{i}", tenant="acme", rating=rating))
    await kept.close()
    assert kept.lost == []


def decided(folder: Path) -> list[DecisionRecord]:
    return [record for record in read_log(folder) if isinstance(record, DecisionRecord)]


async def test_a_log_comes_to_the_same_chance_by_the_same_tasks_weights(tmp_path: Path) -> None:
    await written(tmp_path, 400)

    records = decided(tmp_path)

    held = [record for record in records if record.decision.hold]
    assert {record.outcome.weighed_as for record in held} == {"number", ""}
    assert {record.decision.hold.weighed_as for record in held if record.decision.hold} == {"number", ""}
    assert {record.outcome.judgement for record in held} == {"kept", "escalated"}
    assert replay(records, policies_beside(tmp_path)).differ == ()


async def test_a_log_over_which_weights_were_fitted_again_under_their_name_replays_all_the_same(tmp_path: Path) -> None:
    await written(tmp_path, 60)
    (first,) = segments_in(tmp_path)
    first.rename(tmp_path / "19600101T000000.000000-000000.jsonl")
    await written(tmp_path, 60, {"small": Weights(bias=-0.4, tasks={"code": SHORTER})})

    found = replay(read_log(tmp_path), policies_beside(tmp_path))

    assert (found.replayed, found.differ) == (120, ())


async def test_a_log_of_before_whose_policy_lies_by_the_hash_of_its_text_replays(tmp_path: Path) -> None:
    await written(tmp_path, 60)
    digest, of_text = loaded().hash, text_hash(WEIGHED)
    (segment,) = segments_in(tmp_path)
    segment.write_bytes(segment.read_bytes().replace(digest.encode(), of_text.encode()))
    (tmp_path / "policies" / f"{digest}.json").rename(tmp_path / "policies" / f"{of_text}.json")

    found = replay(read_log(tmp_path), policies_beside(tmp_path))

    assert (digest == of_text, found.replayed, found.differ) == (False, 60, ())


TRIED = """
experiments:
  - name: weighing
    on: default
    unit: request
    variants: {old: {weight: 50}, new: {weight: 50, set: {escalations.careful.weights: v.json}}}
    measure: {primary: {metric: task_success, kind: binary, better: up, smallest_effect: 1pp}}
"""


def test_a_policy_goes_by_its_fitted_weights_and_those_of_its_variants_and_without_any_by_its_text() -> None:
    text = TEXT + TRIED
    fitted, again = loaded(text=text), loaded({"small": SHORTER}, text)

    assert loaded(text=TEXT).hash == text_hash(TEXT)
    assert len({text_hash(text), fitted.hash, again.hash}) == 3
    assert [arm.hash for arm in fitted.arms.values()] == [fitted.hash]
    kept = restored(keep(fitted, text), fitted.hash)
    assert [kept.hash, *[arm.hash for arm in kept.arms.values()]] == [fitted.hash] * 2


@pytest.mark.parametrize(
    "changed", [{"p_correct": 0.123}, {"weighed_as": "choice"}, {"measures": {"length": 1.9, "cut": 1.0}}]
)
async def test_a_chance_that_was_changed_in_a_log_is_found(changed: dict[str, object], tmp_path: Path) -> None:
    await written(tmp_path, 60)
    records: list[Record] = [*decided(tmp_path)]
    at = next(i for i, r in enumerate(records) if isinstance(r, DecisionRecord) and r.decision.hold)
    one = records[at]
    assert isinstance(one, DecisionRecord)
    records[at] = msgspec.structs.replace(one, outcome=msgspec.structs.replace(one.outcome, **changed))

    assert replay(records, policies_beside(tmp_path)).differ == (one.request_id,)


async def test_a_log_of_before_says_nothing_of_measures_and_replays(tmp_path: Path) -> None:
    await written(tmp_path, 60)
    older = [
        msgspec.structs.replace(record, outcome=msgspec.structs.replace(record.outcome, measures=None, weighed_as=""))
        for record in decided(tmp_path)
    ]
    assert replay(older, policies_beside(tmp_path)).differ == ()


async def test_only_answers_that_were_sent_are_learnt_from(tmp_path: Path) -> None:
    await written(tmp_path, 200)

    known = list(answers(lambda: read_log(tmp_path), policies_beside(tmp_path)))

    kept = [record for record in decided(tmp_path) if record.outcome.judgement == "kept"]
    assert [(model, one.measures, one.task) for model, one in known] == [
        ("small", record.outcome.measures, record.facts.task) for record in kept
    ]
    assert all(one.right == ((one.measures["length"] < 0) == (one.task == "number")) for _, one in known)
    assert [one.p_good for _, one in known] == [record.estimate.p_good["small"] for record in kept]


async def test_weights_of_tasks_are_fitted_on_a_log(tmp_path: Path) -> None:
    await written(tmp_path / "log", 600)
    out = tmp_path / "w.json"

    words = ["weigh", "--from-log", str(tmp_path / "log"), "--out", str(out)]
    result = await asyncio.to_thread(CliRunner().invoke, app, words)

    assert result.exit_code == 0, result.output
    fitted = read_weights(out.read_bytes()).models["small"]
    assert fitted.tasks["number"].measures["length"] < -0.5 < 0.5 < fitted.tasks["code"].measures["length"]


async def test_a_log_in_which_nobody_said_anything_is_told_so(tmp_path: Path) -> None:
    policy, kept = loaded(), keep_log(tmp_path / "log")
    kept.log.policy_loaded(policy, WEIGHED)
    kept.log.settled(judged(policy, 0, **EASY), settlement(0))
    await kept.close()

    words = ["weigh", "--from-log", str(tmp_path / "log"), "--out", str(tmp_path / "w.json")]
    result = await asyncio.to_thread(CliRunner().invoke, app, words)

    assert result.exit_code == 1
    assert "has no answers of which it is known whether they were right" in " ".join(result.output.split())
    assert not (tmp_path / "w.json").exists()


async def test_a_person_is_told_whose_weights_will_judge() -> None:
    one = judged(loaded(), 3, task="number", **EASY)
    assert one.decision.hold is not None
    assert "until careful has judged them, weighed as number; large takes over" in held_back(one.decision)
