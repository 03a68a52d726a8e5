"""Several processes write their lines into one pipe: none stands in the middle of another."""

import fcntl
import io
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from telemetry_world import settlement

from gateway.telemetry.gather import MOST, write
from gateway.telemetry.logs import Over, RequestLog
from gateway.telemetry.piped import pieces_of
from gateway.telemetry.redact import Redactor

LINES = st.lists(st.text(st.characters(exclude_characters="\n"), max_size=40), max_size=30)
ROOM = 1 << 20


def over(reason: str = "m: easy") -> list[Over]:
    return [(settlement(f"r{n}", reason=reason), "t", n) for n in range(MOST)]


@pytest.fixture
def packets() -> Iterator[tuple[int, int]]:
    """A pipe that keeps apart what was written at once (`O_DIRECT` of pipe(2)): its ends."""
    reads, writes = os.pipe2(os.O_DIRECT)
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, ROOM)
    yield reads, writes
    os.close(reads)


def written_at_once(reads: int) -> Iterator[bytes]:
    while packet := os.read(reads, ROOM):
        yield packet


@pytest.mark.parametrize("reason", ["m: easy", "größer als alles andere"])
def test_what_is_written_to_a_pipe_at_once_is_whole_lines(packets: tuple[int, int], reason: str) -> None:
    reads, writes = packets
    with ThreadPoolExecutor(1) as reader:
        seen = reader.submit(lambda: list(written_at_once(reads)))
        with os.fdopen(writes, "w", encoding="utf-8") as out:
            RequestLog("json", Redactor(), out).write(over(reason))
        told = seen.result()

    assert all(packet.endswith(b"\n") and len(packet) <= select.PIPE_BUF for packet in told)
    assert [json.loads(line)["request_id"] for line in b"".join(told).splitlines()] == [f"r{n}" for n in range(MOST)]
    assert len(told) < MOST / 3


@given(LINES, st.integers(1, 60))
def test_lines_go_in_pieces_of_which_only_a_line_that_is_too_long_is_longer(lines: list[str], together: int) -> None:
    text = "".join(f"{line}\n" for line in lines)

    pieces = list(pieces_of(text, together))

    assert "".join(pieces) == text
    for piece in pieces:
        assert piece.endswith("\n")
        assert len(piece.encode("utf-8", "surrogatepass")) <= together or piece.count("\n") == 1


def test_what_is_written_to_a_file_is_one_piece(tmp_path: Path) -> None:
    class Counted(io.StringIO):
        writes = 0

        def write(self, text: str) -> int:
            self.writes += 1
            return super().write(text)

        def fileno(self) -> int:
            return file.fileno()

    with (tmp_path / "log").open("w") as file:
        out = Counted()
        RequestLog("json", Redactor(), out).write(over())

    assert (out.writes, out.getvalue().count("\n")) == (1, MOST)


def test_lines_that_left_before_the_reader_did_are_not_counted_as_lost() -> None:
    reads, writes = os.pipe()
    out, lost = os.fdopen(writes, "w"), list[int]()
    log = RequestLog("json", Redactor(), out)
    log.write(over()[:2])
    came = os.read(reads, ROOM).count(b"\n")
    os.close(reads)

    write(log, over()[:5], lost.append)
    with pytest.raises(BrokenPipeError):
        out.close()

    assert (came, lost) == (2, [5])


WRITER = """
import sys
sys.path[:0] = {paths!r}
from telemetry_world import settlement
from gateway.telemetry.logs import RequestLog
from gateway.telemetry.redact import Redactor
log = RequestLog("json", Redactor())
for turn in range(20):
    log.write([(settlement(f"{{sys.argv[1]}}-{{turn}}-{{n}}"), "t", n) for n in range(100)])
"""


def test_processes_that_share_a_pipe_keep_their_lines_whole() -> None:
    code = WRITER.format(paths=[str(Path(__file__).parent), *sys.path])
    reads, writes = os.pipe()
    fcntl.fcntl(writes, fcntl.F_SETPIPE_SZ, select.PIPE_BUF)  # so full that larger pieces have to wait in their middle
    processes = [subprocess.Popen([sys.executable, "-c", code, str(n)], stderr=writes) for n in range(2)]
    os.close(writes)
    with os.fdopen(reads, "rb") as shared:
        lines = shared.read().splitlines()
    assert [process.wait(20) for process in processes] == [0, 0]

    assert len(lines) == 2 * 20 * 100
    assert len({json.loads(line)["request_id"] for line in lines}) == len(lines)
