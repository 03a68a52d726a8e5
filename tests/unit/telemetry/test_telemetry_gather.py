"""Lines wait for each other, for a moment; none is lost, none is written twice, and what one line says hangs on no other."""

import asyncio
import io
import json
import subprocess
import sys

import pytest
import uvicorn
from hypothesis import given
from hypothesis import strategies as st
from telemetry_world import LARGE, SMALL, USAGE, decision, settlement

from gateway.request.door import Door
from gateway.request.hedging.hedged import Hedged
from gateway.serve import DrainingServer
from gateway.telemetry.gather import LATEST_S, MOST, Gathered
from gateway.telemetry.logs import MOST_ALIKE, RequestLog
from gateway.telemetry.redact import Redactor
from gateway.telemetry.request_ids import AT_ONCE, RequestIds


class Out(io.StringIO):
    """Counts how often it was written to."""

    writes = 0

    def write(self, text: str) -> int:
        self.writes += 1
        return super().write(text)

    def ids(self) -> list[str]:
        return [json.loads(line)["request_id"] for line in self.getvalue().splitlines()]


def gathered(out: io.StringIO, lost: list[int] | None = None) -> Gathered:
    return Gathered(RequestLog("json", Redactor(), out), (lost if lost is not None else []).append)


async def test_lines_are_written_together_in_their_order_and_soon():
    out = Out()
    lines = gathered(out)

    for n in range(10):
        lines.add(settlement(f"r{n}"), "", n)
    at_first = out.getvalue()
    async with asyncio.timeout(100 * LATEST_S):
        while not out.writes:  # noqa: ASYNC110  nobody announces it
            await asyncio.sleep(LATEST_S)

    assert at_first == ""
    assert out.ids() == [f"r{n}" for n in range(10)]
    assert out.writes == 1


async def test_no_more_lines_wait_than_a_bound():
    out = Out()
    lines = gathered(out)

    for n in range(3 * MOST + 5):
        lines.add(settlement(f"r{n}"), "", n)
        assert n + 1 - out.getvalue().count("\n") < MOST

    lines.close()
    assert out.ids() == [f"r{n}" for n in range(3 * MOST + 5)]


async def test_what_comes_after_the_end_is_written_at_once():
    out = Out()
    lines = gathered(out)
    lines.add(settlement("waits"), "", 1)

    lines.close()
    lines.add(settlement("late"), "", 2)

    assert out.ids() == ["waits", "late"]


def test_without_a_loop_nothing_waits():
    out = Out()

    gathered(out).add(settlement("r"), "", 1)

    assert out.ids() == ["r"]


async def test_lines_that_nobody_reads_are_all_counted():
    out, lost = Out(), []
    lines = gathered(out, lost)
    for n in range(3):
        lines.add(settlement(f"r{n}"), "", n)
    out.close()

    lines.flush()
    lines.flush()

    assert lost == [3]


async def test_a_line_that_cannot_be_written_costs_no_other():
    out, lost = Out(), []
    lines = gathered(out, lost)
    for n, reason in enumerate(["fine", "half of a pair: \udc00", "fine"]):
        lines.add(settlement(f"r{n}", reason=reason), "", n)

    lines.flush()

    assert out.ids() == ["r0", "r2"]
    assert lost == [1]


def test_however_many_kinds_of_requests_there_are_few_are_remembered():
    log = RequestLog("json", Redactor(), Out())

    log.write([(settlement("r", tenant=f"t{n}"), "", n) for n in range(2 * MOST_ALIKE + 5)])

    assert len(log._alike) <= MOST_ALIKE


async def test_a_server_that_is_told_twice_to_end_has_what_waits_written_first():
    written = []
    server = DrainingServer(uvicorn.Config("app", lifespan="off"), Door(1), 0.0, lambda: written.append("all"))
    server.servers, server.force_exit = [], True

    await server.shutdown()

    assert written == ["all"]


WORLD = """
import asyncio, os, signal, sys
from gateway.request.settlement import Settlement
from gateway.telemetry.opening import build_observer

observer = build_observer(log_to=sys.stdout)

def ask(count):
    for _ in range(count):
        request = observer.begin({}, "POST", "/v1/chat/completions")
        request.settle(Settlement(request_id=request.request_id, dialect="d", tenant="t", stream=False, status=200,
                                  end="stop", attempts=1, duration_ms=1.0))
"""


def lines_of(program: str) -> list[str]:
    done = subprocess.run([sys.executable, "-c", WORLD + program], capture_output=True, text=True, check=False)
    assert "r0" not in done.stderr
    return [json.loads(line)["request_id"] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("ends", ["sys.exit(3)", "raise ValueError", "os.kill(os.getpid(), signal.SIGINT)"])
def test_however_the_process_ends_its_lines_are_written(ends):
    ids = lines_of(f"async def main():\n    ask(5)\n    {ends}\n    ask(0)\nasyncio.run(main())\n")

    assert len(set(ids)) == len(ids) == 5


def test_a_process_that_forks_writes_each_line_once_and_gives_no_id_twice():
    program = """
async def main():
    ask(3)
    child = os.fork()
    ask(4)
    if child:
        os.waitpid(child, 0)
asyncio.run(main())
"""

    ids = lines_of(program)

    assert len(set(ids)) == len(ids) == 3 + 4 + 4


def test_ids_are_all_different_and_look_alike():
    ids = RequestIds()

    drawn = [ids.fresh() for _ in range(3 * AT_ONCE)]

    assert len(set(drawn)) == len(drawn)
    assert {(one[:4], len(one)) for one in drawn} == {("req_", 28)}
    assert all(set(one[4:]) <= set("0123456789abcdef") for one in drawn)


CALLS = st.sampled_from([None, SMALL, LARGE])
SETTLED = st.builds(
    lambda **changes: settlement("r", **changes),
    tenant=st.sampled_from(["a", "b\n", "sk-abcdefghijklmnop1234"]),
    stream=st.booleans(),
    status=st.sampled_from([200, 499]),
    end=st.sampled_from(["stop", "cancelled", "error"]),
    ttft_ms=st.sampled_from([None, 1.25]),
    error_code=st.sampled_from(["", "x"]),
    decision=st.sampled_from([None, decision(SMALL), decision(LARGE, reason="why")]),
    reason=st.sampled_from(["", "why", "key sk-abcdefghijklmnop1234"]),
    answered_by=CALLS,
    usage=st.sampled_from([None, USAGE]),
    judgement=st.sampled_from(["", "kept"]),
    hedged=st.sampled_from([None, Hedged(second=SMALL, after_s=0.5, result="won", loser=SMALL)]),
    unretried=st.booleans(),
)


@pytest.mark.parametrize("form", ["json", "console"])
@given(st.lists(SETTLED, min_size=1, max_size=8))
def test_a_line_says_the_same_whatever_was_written_before_it(form, requests):
    out, alone = io.StringIO(), io.StringIO()
    log = RequestLog(form, Redactor(), out)

    log.write([(one, "t", 1_780_000_000_000_000_000) for one in requests])
    for one in requests:
        RequestLog(form, Redactor(), alone).write([(one, "t", 1_780_000_000_000_000_000)])

    assert out.getvalue() == alone.getvalue()
