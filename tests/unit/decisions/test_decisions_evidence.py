"""A log of choices that were drawn tells what other policies would have come to; one of others says that it does not know."""

import asyncio
import json
import random
from pathlib import Path

import msgspec
import pytest
from click.testing import Result
from servers.decision_log_world import TEXT, KeptLog, judged, keep_log, load, only_decisions, raw_decisions, settlement
from typer.testing import CliRunner

from gateway.cli import app
from gateway.decisions.evidence import Verdict
from gateway.decisions.read import LogRefused, read_log
from gateway.decisions.record import DecisionRecord, FeedbackRecord
from gateway.decisions.replay import compare, decide_again, policies_beside, replay
from gateway.request.judge import Judged
from policies.decide import decide
from policies.decision import Call
from policies.offpolicy.sample import Found, Refused
from policies.policy import Policy

GOOD = {"small": 0.6, "large": 0.95}
PRICE = {"small": 40, "large": 900}
EXPLORING = TEXT.replace("    escalate: careful\n", "    explore: 40%\n").replace(
    "escalations:\n  careful: {when: {p_correct: {under: 50%}}, to: large}\n", ""
)
EXPERIMENT = (
    EXPLORING
    + """
experiments:
  - name: dear
    on: default
    unit: tenant
    variants:
      control: {weight: 50}
      treat: {weight: 50, set: {models.small.price.output: $0.8/M, routes.default.explore: 20%}}
    measure: {primary: {metric: cost_per_request, smallest_effect: 5%}}
"""
)
ONLY_LARGE = TEXT[: TEXT.index("escalations")] + "routes: [{use: large}]\n"
ONLY_SMALL = ONLY_LARGE.replace("use: large", "use: small")


def drawn(policy: Policy, i: int, draw: float, **facts: object) -> Judged:
    one = judged(policy, i, requested="auto", needs=frozenset(), prompt_tokens=1_000, max_tokens=64, **facts)
    first_turn = msgspec.structs.replace(one.estimate, earlier=())
    snapshot = msgspec.structs.replace(one.snapshot, draw=draw)
    return Judged(one.facts, first_turn, decide(policy, one.facts, first_turn, snapshot), snapshot, {})


def asked_first(one: Judged) -> str:
    assert isinstance(one.decision.choice, Call)
    return one.decision.choice.model


def settle(kept: KeptLog, one: Judged, i: int, dice: random.Random) -> None:
    """What it cost hangs on who answered, and whether it was good on nothing else."""
    model = asked_first(one)
    kept.log.settled(one, settlement(i, answered_by=Call(model, f"http://{model[0]}0/v1"), microusd=PRICE[model]))
    if i % 3 == 0:
        good = dice.random() < GOOD[model]
        rating = FeedbackRecord(
            at=one.snapshot.now, request_id=f"req_{i}", tenant="acme", rating="good" if good else "bad"
        )
        kept.log.heard(rating)


async def written(folder: Path, text: str, count: int = 1_500, first: int = 0) -> None:
    policy, kept, dice = load(text), keep_log(folder), random.Random(first)
    kept.log.policy_loaded(policy, text)
    for i in range(first, first + count):
        settle(kept, drawn(policy, i, dice.random()), i, dice)
    await kept.close()
    assert kept.lost == []


async def command(*words: str) -> Result:
    """In a thread of its own, as commands have a loop of their own."""
    return await asyncio.to_thread(CliRunner().invoke, app, list(words))


def told(verdict: Verdict | None) -> Found:
    assert verdict is not None
    assert isinstance(verdict.robust, Found), verdict.robust
    return verdict.robust


async def test_drawn_choices_tell_what_a_policy_would_cost_and_how_good_it_would_be(tmp_path: Path) -> None:
    await written(tmp_path, EXPLORING)

    for text, model in ((ONLY_LARGE, "large"), (ONLY_SMALL, "small")):
        found = compare(read_log(tmp_path), policies_beside(tmp_path), load(text))
        quality, cost = told(found.quality), told(found.cost)
        assert quality.mean.low <= GOOD[model] <= quality.mean.high
        assert quality.mean.high - quality.mean.low < 0.25
        assert cost.mean.low - 1e-6 <= PRICE[model] <= cost.mean.high + 1e-6
        assert cost.unseen == quality.unseen == 0
        assert found.quality is not None
        assert found.quality.decisions == 500
    assert replay(read_log(tmp_path), policies_beside(tmp_path)).differ == ()


async def test_the_probability_on_a_record_is_the_chance_of_its_choice(tmp_path: Path) -> None:
    await written(tmp_path, EXPLORING, 300)

    records = [record for record in read_log(tmp_path) if isinstance(record, DecisionRecord)]

    explored = [record for record in records if record.decision.instead_of]
    assert 20 < len(explored) < 120
    assert {record.probability for record in explored} == {0.2}
    assert {record.probability for record in records} == {0.2, 0.8}


async def test_without_draws_money_has_no_number_and_quality_a_wide_one(tmp_path: Path) -> None:
    plain = EXPLORING.replace("    explore: 40%\n", "")
    await written(tmp_path, plain, 900)
    other = plain.replace("cost: 40%", "cost: 50%")

    found = compare(read_log(tmp_path), policies_beside(tmp_path), load(other))
    far = compare(read_log(tmp_path), policies_beside(tmp_path), load(ONLY_LARGE))

    quality = told(found.quality)
    flipped = found.flipped / found.compared
    assert 0.02 < flipped < 0.5
    assert quality.unseen == pytest.approx(flipped, abs=0.05)
    assert quality.mean.high - quality.mean.low > quality.unseen
    for verdict, why in ((found.cost, "may cost anything"), (far.quality, "no evidence on")):
        assert verdict is not None
        assert isinstance(verdict.robust, Refused)
        assert why in verdict.robust.why


async def test_two_policies_differ_on_a_log_by_what_they_differ_by(tmp_path: Path) -> None:
    await written(tmp_path / "log", EXPLORING)
    for name, text in (("a", ONLY_SMALL), ("b", ONLY_LARGE)):
        (tmp_path / f"{name}.yaml").write_text(text)
    words = ["diff", str(tmp_path / "a.yaml"), str(tmp_path / "b.yaml"), "--replay", str(tmp_path / "log")]

    plain, table = await command(*words, "--json"), await command(*words)

    assert plain.exit_code == table.exit_code == 0, table.output
    found = json.loads(plain.stdout)
    gain = found["quality"]["robust"]["change"]
    assert found["flips"] == [{"before": "small", "after": "large", "decisions": 1_500}]
    assert gain["low"] <= GOOD["large"] - GOOD["small"] <= gain["high"]
    assert found["cost"]["weighted"]["change"]["value"] == pytest.approx(PRICE["large"] - PRICE["small"])
    assert "robust" in table.stdout
    assert "$ per 1,000 decisions" in table.stdout
    assert "no fair sample" in table.stderr


async def test_a_log_of_an_experiment_is_decided_again_and_told_of_by_the_variant_of_each_request(
    tmp_path: Path,
) -> None:
    policy, kept, dice = load(EXPERIMENT), keep_log(tmp_path), random.Random(5)
    kept.log.policy_loaded(policy, EXPERIMENT)
    for i in range(900):
        settle(kept, drawn(policy, i, dice.random(), tenant=f"tenant-{i % 40}"), i, dice)
    await kept.close()

    again = replay(read_log(tmp_path), policies_beside(tmp_path))
    found = compare(read_log(tmp_path), policies_beside(tmp_path), load(ONLY_LARGE))
    records = only_decisions(list(read_log(tmp_path)))

    assert (again.replayed, again.differ) == (900, ())
    assert {record.probability for record in records if record.decision.instead_of} == {0.2, 0.1}
    assert told(found.cost).mean.low - 1e-6 <= PRICE["large"] <= told(found.cost).mean.high + 1e-6


async def test_the_logs_of_several_processes_are_read_as_one_by_time(tmp_path: Path) -> None:
    await written(tmp_path / "a", EXPLORING, 200, first=0)
    await written(tmp_path / "b", ONLY_LARGE, 200, first=100)

    records = [record for record in read_log(tmp_path) if isinstance(record, DecisionRecord)]
    policy_of = policies_beside(tmp_path)
    on_disk = {line for folder in ("a", "b") for _, line in raw_decisions(tmp_path / folder)}

    assert [record.at for record in records] == sorted(record.at for record in records)
    assert len(records) == 400
    assert len({record.decision.policy_hash for record in records}) == 2
    for record in records:
        again = decide_again(policy_of(record.decision.policy_hash), record)
        assert msgspec.json.encode(again) == msgspec.json.encode(record.decision)
        assert msgspec.json.encode(again) in on_disk


def test_a_folder_without_a_log_is_no_log(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    with pytest.raises(LogRefused, match="nor do the folders in it"):
        read_log(tmp_path)
