"""What is on disk decides again as it was decided, and by another policy shows what would be."""

import shutil
import time
from pathlib import Path

import msgspec
import pytest
from servers.decision_log_world import TEXT, judged, keep_log, load, raw_decisions, settlement

from gateway.decisions.read import read_log
from gateway.decisions.record import DecisionRecord, digest_of
from gateway.decisions.replay import compare, decide_again, policies_beside, replay
from gateway.decisions.segments import segments_in
from policies.decision import Reject
from policies.language.kept import keep, restored


async def written(folder: Path, count: int, **facts: object) -> None:
    policy, kept = load(), keep_log(folder)
    kept.log.policy_loaded(policy, TEXT)
    for i in range(count):
        kept.log.settled(judged(policy, i, **facts), settlement(i))
    await kept.close()
    assert kept.lost == []


async def test_every_record_decides_again_byte_for_byte(tmp_path: Path) -> None:
    await written(tmp_path, 2_000)

    records, policy_of, on_disk = list(read_log(tmp_path)), policies_beside(tmp_path), dict(raw_decisions(tmp_path))

    assert [record.request_id for record in records] == [f"req_{i}" for i in range(2_000)]
    seen = set()
    for record in records:
        assert isinstance(record, DecisionRecord)
        again = decide_again(policy_of(record.decision.policy_hash), record)
        assert msgspec.json.encode(again) == on_disk[record.request_id]
        assert record.snapshot_digest == digest_of(record.snapshot)
        seen.add((again.route, type(again.choice) is Reject, again.hold is None, again.line is None, again.unheld))
    assert len(seen) >= 5, "the log holds too few kinds of decisions to show anything"


async def test_a_line_that_was_changed_on_disk_is_found(tmp_path: Path) -> None:
    await written(tmp_path, 50)
    (segment,) = segments_in(tmp_path)
    lines = segment.read_bytes().splitlines(keepends=True)
    number = next(i for i, line in enumerate(lines) if b'"model":"small"' in line.partition(b'"decision"')[2])
    lines[number] = lines[number].replace(
        b'"steps":[{"type":"call","model":"', b'"steps":[{"type":"call","model":"not-'
    )
    segment.write_bytes(b"".join(lines))

    found = replay(read_log(tmp_path), policies_beside(tmp_path))

    assert found.differ == (f"req_{number}",)
    assert found.replayed == 50


async def test_twenty_thousand_decisions_replay_in_under_ten_seconds(tmp_path: Path) -> None:
    await written(tmp_path, 2_000)
    began = time.process_time()

    found = replay(read_log(tmp_path), policies_beside(tmp_path))

    assert found.replayed == 2_000
    assert found.differ == ()
    assert (time.process_time() - began) * 10 < 10


def test_a_policy_comes_back_from_what_is_kept_of_it_without_its_classifier() -> None:
    policy = load()
    kept = msgspec.json.decode(msgspec.json.encode(keep(policy, TEXT)), type=type(keep(policy, TEXT)))

    again = restored(kept)

    assert again.hash == policy.hash
    assert again.models == policy.models
    assert [route.choose for route in again.routes] == [route.choose for route in policy.routes]
    assert again.escalations == policy.escalations


def test_a_text_that_is_no_policy_any_more_says_why() -> None:
    kept = msgspec.structs.replace(keep(load(), TEXT), text=TEXT.replace("routes:", "ruotes:"))

    with pytest.raises(ValueError, match="ruotes"):
        restored(kept)


async def test_a_log_without_its_policy_says_which_is_missing(tmp_path: Path) -> None:
    await written(tmp_path, 5)
    shutil.rmtree(tmp_path / "policies")

    found = replay(read_log(tmp_path), policies_beside(tmp_path))

    assert found.replayed == 0
    assert found.without_policy == {load().hash: 5}


async def test_another_policy_is_compared_by_its_choices_and_by_what_they_would_have_cost(tmp_path: Path) -> None:
    await written(tmp_path, 300, requested="auto", needs=frozenset(), prompt_tokens=1_000)
    only_large = load(TEXT[: TEXT.index("escalations")] + "routes: [{use: large}]\n")

    found = compare(read_log(tmp_path), policies_beside(tmp_path), only_large)

    assert found.compared == 300
    assert found.after == {"large": 300}
    assert found.flips == {("small", "large"): found.before["small"]}
    assert 0 < found.flipped < 300
    each = {"small": 0.1 * 1_000 + 0.4 * 40, "large": 2.0 * 1_000 + 8.0 * 40}
    assert found.before_microusd == pytest.approx(sum(each[model] * n for model, n in found.before.items()))
    assert found.after_microusd == pytest.approx(300 * each["large"])


async def test_the_same_policy_flips_nothing_where_its_line_stays(tmp_path: Path) -> None:
    policy, kept = load(), keep_log(tmp_path)
    kept.log.policy_loaded(policy, TEXT)
    for i in range(100):
        one = judged(policy, i, requested="auto", needs=frozenset({"tools"}))
        kept.log.settled(one, settlement(i))
    await kept.close()

    found = compare(read_log(tmp_path), policies_beside(tmp_path), policy)

    assert found.compared == 100
    assert found.flips == {}
    assert found.before_microusd == found.after_microusd
