"""The drift report: quantiles by day, and chances beside what callers said of the same tenant's answers."""

import json
import math
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from servers.decision_log_world import TEXT, judged, keep_log, load, only_decisions, settlement
from typer.testing import CliRunner

from gateway.cli import app
from gateway.decisions.drift import BUCKETS, drift, quantile
from gateway.decisions.read import read_log
from gateway.decisions.record import FeedbackRecord, Rating
from gateway.decisions.replay import policies_beside
from policies.decision import Call

DAY_S = 86_400


async def kept(folder: Path, count: int, *, worth_of_chance: bool = True) -> None:
    """Answers of the small model over three days, each with a word that is good as often as its chance says, or never."""
    policy, log = load(), keep_log(folder)
    log.log.policy_loaded(policy, TEXT)
    for i in range(count):
        chance = (i % 10 + 0.5) / 10
        one = judged(policy, i, requested="auto", needs=frozenset())
        estimate = msgspec.structs.replace(one.estimate, p_good={"small": chance, "large": 0.9}, earlier=())
        snapshot = msgspec.structs.replace(one.snapshot, now=1_800_000_000.0 + i * 3 // count * DAY_S)
        log.log.settled(type(one)(one.facts, estimate, one.decision, snapshot, {}), settlement(i))
        turn = i // 10 % 20 / 20
        rating: Rating = "good" if worth_of_chance and turn < chance else "bad"
        log.log.heard(FeedbackRecord(at=1.0, request_id=f"req_{i}", tenant="acme", rating=rating))
    await log.close()


async def test_chances_that_hold_have_no_gap_and_chances_that_do_not_have_one(tmp_path: Path) -> None:
    await kept(tmp_path / "true", 600)
    await kept(tmp_path / "false", 600, worth_of_chance=False)

    holds = drift(read_log(tmp_path / "true"), policies_beside(tmp_path / "true"))
    fails = drift(read_log(tmp_path / "false"), policies_beside(tmp_path / "false"))

    assert [(b.model, b.answers) for b in holds.buckets] == [("small", 120)] * BUCKETS
    assert [b.p_good for b in holds.buckets] == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9])
    assert [b.worth for b in holds.buckets] == pytest.approx([0.1, 0.3, 0.5, 0.7, 0.9], abs=0.03)
    assert holds.error["small"] < 0.03
    assert fails.error["small"] == pytest.approx(0.5)


async def test_days_have_their_quantiles(tmp_path: Path) -> None:
    await kept(tmp_path, 300)

    found = drift(read_log(tmp_path), policies_beside(tmp_path))

    assert [day.day for day in found.days] == ["2027-01-15", "2027-01-16", "2027-01-17"]
    assert [day.estimated for day in found.days] == [100, 100, 100]
    assert found.days[0].p_good["small"] == pytest.approx((0.05, 0.45, 0.85))


async def test_words_of_another_tenant_and_of_answers_without_estimate_are_in_no_bucket(tmp_path: Path) -> None:
    policy, log = load(), keep_log(tmp_path)
    log.log.policy_loaded(policy, TEXT)
    one = judged(policy, 0, requested="auto", needs=frozenset())
    silent = msgspec.structs.replace(one.estimate, p_good={}, abstains="late")
    log.log.settled(one, settlement(0))
    log.log.settled(type(one)(one.facts, silent, one.decision, one.snapshot, {}), settlement(1))
    log.log.settled(one, settlement(2, answered_by=None))
    log.log.settled(one, settlement(3, answered_by=Call("large", "http://l0/v1")))
    for i, tenant in ((0, "other"), (1, "acme"), (2, "acme"), (3, "acme")):
        log.log.heard(FeedbackRecord(at=1.0, request_id=f"req_{i}", tenant=tenant, score=0.25))
    await log.close()

    found = drift(read_log(tmp_path), policies_beside(tmp_path))

    assert len(only_decisions(list(read_log(tmp_path)))) == 4
    assert [(b.model, b.answers, b.worth) for b in found.buckets] == [("large", 1, 0.25)]
    assert (found.days[0].estimated, found.days[0].abstained) == (3, 1)


async def test_the_last_word_counts(tmp_path: Path) -> None:
    policy, log = load(), keep_log(tmp_path)
    log.log.policy_loaded(policy, TEXT)
    log.log.settled(judged(policy, 0, requested="auto", needs=frozenset()), settlement(0))
    for told in ({"rating": "good"}, {"comment_chars": 3}, {"corrected": True}, {"corrected": False}):
        log.log.heard(
            msgspec.convert(
                {"record": "feedback", "at": 1.0, "request_id": "req_0", "tenant": "acme", **told}, FeedbackRecord
            )
        )
    await log.close()

    (only,) = drift(read_log(tmp_path), policies_beside(tmp_path)).buckets

    assert (only.answers, only.worth) == (1, 0.0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=50), st.floats(0, 1))
def test_a_quantile_is_the_least_value_with_that_share_at_or_below_it(values: list[float], q: float) -> None:
    ascending = sorted(values)
    found = quantile(ascending, q)

    assert sum(value <= found for value in values) >= math.floor(q * len(values))
    assert sum(value < found for value in values) < max(1.0, q * len(values))


async def test_the_command_shows_it(tmp_path: Path) -> None:
    await kept(tmp_path, 100)

    table = CliRunner().invoke(app, ["drift", str(tmp_path)])
    plain = CliRunner().invoke(app, ["drift", str(tmp_path), "--json"])

    assert table.exit_code == 0, table.output
    assert "2027-01-15" in table.stdout
    assert "no sample" in table.stderr
    assert len(json.loads(plain.stdout)["buckets"]) == BUCKETS
