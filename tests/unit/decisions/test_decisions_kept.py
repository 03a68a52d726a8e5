"""Segments are whole, bounded and rotated; what cannot be kept is counted; feedback finds its request."""

import math
import os
from functools import lru_cache
from pathlib import Path

import msgspec
import pytest
from pydantic import ValidationError
from servers.decision_log_world import TEXT, judged, keep_log, load, only_decisions, settlement

from gateway.decisions.read import LogRefused, read_log
from gateway.decisions.record import FeedbackRecord
from gateway.decisions.replay import policies_beside, replay
from gateway.decisions.segments import Segments, segments_in
from gateway.decisions.shelf import Shelf
from gateway.decisions.summary import summary
from gateway.folder import FolderTaken
from gateway.settings import Decisions
from policies.decision import Call
from policies.language.kept import Kept, keep, restored

SMALL_SEGMENTS = 40_000


async def kept_in(folder: Path, count: int, **bounds: int) -> None:
    policy, kept = load(), keep_log(folder, **bounds)
    kept.log.policy_loaded(policy, TEXT)
    for i in range(count):
        kept.log.settled(judged(policy, i), settlement(i))
    await kept.close()
    assert kept.lost == []


def ids(folder: Path) -> list[str]:
    return [record.request_id for record in read_log(folder)]


async def test_the_outcome_is_what_the_settlement_says(tmp_path: Path) -> None:
    policy, kept = load(), keep_log(tmp_path)
    gave_up = Call("small", "http://s0/v1")
    told = settlement(
        3, judgement="escalated", abandoned_by=gave_up, abandoned_microusd=4, error_code="", p_correct=0.25
    )
    kept.log.settled(judged(policy, 3), told)
    await kept.close()

    (record,) = only_decisions(kept.records())

    for name in record.outcome.__struct_fields__:
        assert getattr(record.outcome, name) == getattr(told, name), name
    assert record.outcome.escalated
    assert (record.request_id, record.tenant, record.probability) == ("req_3", "acme", 1.0)
    assert record.at == record.snapshot.now
    assert record.decision == judged(policy, 3).decision
    assert record.facts == judged(policy, 3).facts


async def test_full_segments_follow_each_other_and_nothing_is_lost_between_them(tmp_path: Path) -> None:
    await kept_in(tmp_path, 600, segment_bytes=SMALL_SEGMENTS)

    assert len(segments_in(tmp_path)) > 2
    assert ids(tmp_path) == [f"req_{i}" for i in range(600)]


def test_an_old_segment_ends_though_it_has_room(tmp_path: Path) -> None:
    clock = [1_000.0]
    segments = Segments(tmp_path, segment_bytes=10**6, segment_s=60, total_bytes=10**7, now=lambda: clock[0])
    for at in (1_000.0, 1_059.0, 1_060.0, 1_061.0):
        clock[0] = at
        segments.append(b"%d\n" % at)
    segments.close()

    assert [path.read_bytes() for path in segments_in(tmp_path)] == [b"1000\n1059\n", b"1060\n1061\n"]


def test_room_for_less_than_two_segments_is_refused() -> None:
    with pytest.raises(ValidationError, match="total_bytes must hold two segments"):
        Decisions(segment_bytes=3 << 20, total_bytes=5 << 20)


async def test_the_sum_is_bounded_and_the_oldest_goes_first(tmp_path: Path) -> None:
    most, batch = 1_000_000, 400_000
    await kept_in(tmp_path, 2_000, segment_bytes=200_000, total_bytes=most)

    assert sum(path.stat().st_size for path in segments_in(tmp_path)) <= most + batch
    left = ids(tmp_path)
    assert 0 < len(left) < 2_000
    assert left == [f"req_{i}" for i in range(2_000 - len(left), 2_000)]


async def test_nobody_but_the_owner_may_look(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    await kept_in(folder, 3)

    assert folder.stat().st_mode & 0o777 == 0o700
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert len(files) == 3
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}


async def test_a_full_queue_drops_and_counts_and_keeps_what_came_first(tmp_path: Path) -> None:
    policy, kept = load(), keep_log(tmp_path, most=5, start=False)
    for i in range(8):
        kept.log.settled(judged(policy, i), settlement(i))
    heard = kept.log.heard(FeedbackRecord(at=1.0, request_id="req_0", tenant="acme", rating="bad"))
    kept.log.start()
    await kept.close()

    assert not heard
    assert kept.lost == [1, 1, 1, 1]
    assert ids(tmp_path) == [f"req_{i}" for i in range(5)]


async def test_a_new_process_begins_a_new_segment_behind_a_torn_one(tmp_path: Path) -> None:
    await kept_in(tmp_path, 10)
    (first,) = segments_in(tmp_path)
    torn = first.rename(tmp_path / "19600101T000000.000000-000000.jsonl")
    torn.write_bytes(torn.read_bytes()[:-100])

    await kept_in(tmp_path, 3)

    assert ids(tmp_path) == [*[f"req_{i}" for i in range(9)], "req_0", "req_1", "req_2"]


async def test_cut_anywhere_a_segment_reads_as_its_whole_lines(tmp_path: Path) -> None:
    await kept_in(tmp_path, 3)
    (segment,) = segments_in(tmp_path)
    whole = segment.read_bytes()
    ends = [i for i, byte in enumerate(whole) if byte == 10]

    for cut in range(0, len(whole), 101):
        segment.write_bytes(whole[:cut])
        assert len(list(read_log(segment))) == sum(end <= cut for end in ends)


async def test_damage_in_the_middle_is_refused_by_file_and_line(tmp_path: Path) -> None:
    await kept_in(tmp_path, 5)
    (segment,) = segments_in(tmp_path)
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(b"".join([*lines[:2], lines[2][:50] + b"\n", *lines[3:]]))

    with pytest.raises(LogRefused, match=rf"{segment.name}:3: this is no record"):
        list(read_log(tmp_path))


@pytest.mark.parametrize(
    ("before", "after", "told"),
    [
        (b'"schema":1', b'"schema":2', "schema 2 is not known here; this version reads schema 1"),
        (b'"record":"decision"', b'"record":"exposure"', "kind 'exposure' is not known"),
        (b'"microusd":17', b'"microusd":"x"', "this is no record of a decision log"),
    ],
)
async def test_what_is_not_known_is_refused_by_name_even_in_the_last_line(
    before: bytes, after: bytes, told: str, tmp_path: Path
) -> None:
    await kept_in(tmp_path, 1)
    (segment,) = segments_in(tmp_path)
    segment.write_bytes(segment.read_bytes().replace(before, after, 1))

    with pytest.raises(LogRefused, match=told):
        list(read_log(tmp_path))


def test_a_folder_without_segments_says_so(tmp_path: Path) -> None:
    with pytest.raises(LogRefused, match="holds no segment"):
        list(read_log(tmp_path))


async def test_one_folder_has_one_writer(tmp_path: Path) -> None:
    kept = keep_log(tmp_path)
    with pytest.raises(FolderTaken, match="a folder of its own"):
        Segments(tmp_path, segment_bytes=1, segment_s=1, total_bytes=1, now=lambda: 0.0)
    await kept.close()

    await keep_log(tmp_path).close()


def test_policies_that_no_segment_needs_go_with_their_segments(tmp_path: Path) -> None:
    older = TEXT.replace("p_correct: {under: 50%}", "p_correct: {under: 40%}")
    shelf = Shelf(tmp_path)
    for digest, text in (("old", older), ("new", TEXT)):
        shelf.learn(digest, keep(load(text), text))
        shelf.need(digest, 1)
    (tmp_path / "20010909T014640.000000-000000.jsonl").touch()
    os.utime(tmp_path / "policies" / "old.json", (10.0, 10.0))

    shelf.need("new", 2)

    assert [path.name for path in (tmp_path / "policies").iterdir()] == ["new.json"]
    shelf.need("old", 2)
    assert restored(msgspec.json.decode((tmp_path / "policies" / "old.json").read_bytes(), type=Kept)) is not None


async def test_every_decision_has_its_policy_beside_it(tmp_path: Path) -> None:
    older = TEXT.replace("p_correct: {under: 50%}", "p_correct: {under: 40%}")
    kept = keep_log(tmp_path, segment_bytes=SMALL_SEGMENTS, total_bytes=8 * SMALL_SEGMENTS)
    for i in range(300):
        text = TEXT if i // 10 % 2 else older
        kept.log.policy_loaded(load_once(text), text)
        kept.log.settled(judged(load_once(text), i), settlement(i))
    await kept.close()

    found = replay(read_log(tmp_path), policies_beside(tmp_path))

    assert found.replayed == len(ids(tmp_path)) > 20
    assert (found.differ, found.without_policy) == ((), {})


load_once = lru_cache(load)


@pytest.mark.parametrize("what", ["no number", "half a character"])
async def test_what_could_not_be_read_again_is_dropped_alone(what: str, tmp_path: Path) -> None:
    policy, kept = load(), keep_log(tmp_path)
    one = judged(policy, 1, requested="auto" if what == "no number" else "nobody\ud800")
    if what == "no number":
        one = msgspec.structs.replace(one, estimate=msgspec.structs.replace(one.estimate, p_good={"small": math.nan}))
    for i, each in enumerate((judged(policy, 0), one, judged(policy, 2))):
        kept.log.settled(each, settlement(i))
    await kept.close()

    assert kept.lost == [1]
    assert ids(tmp_path) == ["req_0", "req_2"]


async def test_feedback_counts_for_the_request_of_the_same_tenant_alone(tmp_path: Path) -> None:
    policy, kept = load(), keep_log(tmp_path)
    for i in range(4):
        kept.log.settled(judged(policy, i), settlement(i))
    for tenant, request, rating in (("acme", "req_1", "bad"), ("acme", "req_9", "good"), ("other", "req_2", "good")):
        kept.log.heard(FeedbackRecord(at=2.0, request_id=request, tenant=tenant, rating=rating))
    kept.log.heard(FeedbackRecord(at=2.0, request_id="req_3", tenant="acme", score=0.5, comment_chars=12))
    await kept.close()

    found = summary(kept.records())

    assert (found.decisions, found.feedback, found.stray) == (4, 4, 2)
    assert (found.by_model["small"].good, found.by_model["small"].bad) == (0, 1)
    assert found.by_model["small"].microusd == 4 * 17
    assert found.by_end == {"stop": 4}


@pytest.mark.parametrize(
    "place", ["requested", "header value", "header name", "tenant", "replica", "known to the process"]
)
async def test_a_credential_is_taken_out_wherever_it_stands_and_the_record_says_so(place: str, tmp_path: Path) -> None:
    secret = "hunter2-of-the-upstream" if place == "known to the process" else "sk-abcdefghijklmnop1234"
    if place == "header name":
        secret = "plainpassword"
    facts: dict[str, dict[str, object]] = {
        "requested": {"requested": secret},
        "known to the process": {"requested": f"my {secret} key"},
        "header value": {"headers": {"x-team": f"Bearer {secret}"}},
        "header name": {"headers": {"x-api-key": secret}},
        "tenant": {"tenant": secret},
    }
    policy, kept = load(), keep_log(tmp_path)
    one = judged(policy, 2, **facts.get(place, {}))
    if place == "replica":
        down = msgspec.structs.replace(one.snapshot.replicas["large"][0], ready=False, why_not=f"refused {secret}")
        one = type(one)(
            one.facts,
            one.estimate,
            one.decision,
            msgspec.structs.replace(one.snapshot, replicas={"large": (down,)}),
            {},
        )
    kept.log.settled(one, settlement(2))
    kept.log.settled(judged(policy, 3), settlement(3))
    await kept.close()

    assert secret not in kept.text()
    first, second = only_decisions(kept.records())
    assert first.cleaned
    assert not second.cleaned
