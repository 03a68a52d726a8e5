"""Killed, on a full disk, without its folder: the log loses what it must, says so, and what is there stays whole."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from servers.decision_log_world import TEXT, judged, keep_log, load, settlement

from gateway.decisions.read import read_log
from gateway.decisions.replay import policies_beside, replay
from gateway.decisions.segments import Segments, segments_in
from gateway.settings import BadSettings, Decisions, Settings
from gateway.telemetry.opening import build_observer
from gateway.telemetry.redact import Redactor
from gateway.wiring import build_gateway, open_decisions

WRITER = """
import itertools, sys
from pathlib import Path
from servers.decision_log_world import TEXT, judged, keep_log, load, settlement

folder, policy = Path(sys.argv[1]), load()
kept = keep_log(folder, segment_bytes=300_000)
kept.log.policy_loaded(policy, TEXT)
for i in itertools.count():
    kept.log.settled(judged(policy, i), settlement(i))
    if i % 100 == 0:
        print(sum(path.stat().st_size for path in folder.glob("*.jsonl")), flush=True)
"""

TESTS = Path(__file__).parents[1]


def test_killed_in_the_middle_it_leaves_a_log_without_gaps_that_decides_again(tmp_path: Path) -> None:
    for round_ in range(2):
        folder = tmp_path / str(round_)
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder)], cwd=TESTS, stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            for line in writer.stdout:
                if int(line) > 400_000 * (round_ + 1):
                    break
            writer.kill()

        records = list(read_log(folder))
        found = replay(records, policies_beside(folder))

        assert len(records) > 100
        assert [record.request_id for record in records] == [f"req_{i}" for i in range(len(records))]
        assert (found.replayed, found.differ, found.without_policy) == (len(records), (), {})


def test_after_a_kill_the_next_process_goes_on_in_the_same_folder(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(tmp_path)], cwd=TESTS, stdout=subprocess.PIPE, text=True
    ) as writer:
        assert writer.stdout is not None
        next(line for line in writer.stdout if int(line) > 0)
        writer.kill()
    before = {path: path.read_bytes() for path in segments_in(tmp_path)}

    clocked_later = Segments(tmp_path, segment_bytes=1 << 20, segment_s=60, total_bytes=1 << 30, now=lambda: 1e9)
    clocked_later.append(b"")
    clocked_later.close()

    assert len(segments_in(tmp_path)) == len(before) + 1
    assert all(path.read_bytes() == content for path, content in before.items())


FULL = """
import asyncio, resource, sys
from pathlib import Path
from servers.decision_log_world import TEXT, judged, keep_log, load, settlement

folder, policy = Path(sys.argv[1]), load()
kept = keep_log(folder, start=False)
kept.log.policy_loaded(policy, TEXT)
for i in range(600):
    kept.log.settled(judged(policy, i), settlement(i))
resource.setrlimit(resource.RLIMIT_FSIZE, (500_000, resource.RLIM_INFINITY))
kept.log._empty()
lost = sum(kept.lost)
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
for i in range(600, 650):
    kept.log.settled(judged(policy, i), settlement(i))
kept.log.start()
asyncio.run(kept.close())
print(lost, sum(kept.lost))
"""


def test_on_a_full_disk_batches_are_lost_whole_and_counted_and_it_goes_on_when_there_is_room(tmp_path: Path) -> None:
    """A limit on the file's size fails as a full disk does: a part of the write, then an error."""
    done = subprocess.run(
        [sys.executable, "-c", FULL, str(tmp_path)], cwd=TESTS, capture_output=True, text=True, check=True
    )
    lost_when_full, lost = map(int, done.stdout.split())

    kept = [record.request_id for record in read_log(tmp_path)]

    assert lost == lost_when_full > 0
    assert len(kept) == 650 - lost
    assert kept[-50:] == [f"req_{i}" for i in range(600, 650)]
    assert len(segments_in(tmp_path)) == 1
    assert done.stderr.count("decisions are not kept") == 1


async def test_without_its_folder_it_drops_and_counts_and_nobody_else_notices(tmp_path: Path) -> None:
    folder, policy = tmp_path / "log", load()
    kept = keep_log(folder, start=False)
    kept.log.policy_loaded(policy, TEXT)
    shutil.rmtree(folder)
    for i in range(3):
        kept.log.settled(judged(policy, i), settlement(i))

    kept.log.start()
    await kept.close()

    assert sum(kept.lost) == 3
    assert not folder.exists()


@pytest.mark.parametrize("in_the_way", ["a file", "another process"])
def test_a_folder_that_cannot_be_written_is_told_at_the_start(in_the_way: str, tmp_path: Path) -> None:
    place, policy = tmp_path / "log", tmp_path / "policy.yaml"
    policy.write_text("policy: 1\nmodels: {m: {at: 'http://127.0.0.1:9/v1'}}\nroutes: [{use: m}]\n")
    if in_the_way == "a file":
        place.write_text("")
    else:
        held = Segments(place, segment_bytes=1, segment_s=1, total_bytes=1, now=lambda: 0.0)

    with pytest.raises(BadSettings, match="log of decisions cannot be written"):
        build_gateway(Settings(policy=policy, decisions=Decisions(dir=place)))

    if in_the_way == "another process":
        held.close()


async def test_what_is_lost_is_a_metric(tmp_path: Path) -> None:
    observer = build_observer(log="off")
    log = open_decisions(Decisions(dir=tmp_path / "log", queue=1), Redactor(), observer)
    assert log is not None
    shutil.rmtree(tmp_path / "log")
    policy = load()
    for i in range(2):
        log.settled(judged(policy, i), settlement(i))
    await log.aclose()

    assert b'router_telemetry_dropped_total{router_signal="decision"} 2.0' in observer.metrics_page()
