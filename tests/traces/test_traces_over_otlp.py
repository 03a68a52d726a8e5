"""The same traces through the gateway as it is wired, over OTLP/HTTP, at a receiver of the test."""

import threading
from pathlib import Path

import pytest
from servers.collector import Manner, collector
from traces.scenarios import SCENARIOS
from traces.span_text import seen_over_otlp, text_of, traces_of
from traces.test_golden_traces import GOLDEN, holds_together
from traces.traced_world import traced

from gateway.settings import Telemetry


def told_to(url: str) -> Telemetry:
    return Telemetry(traces="otlp", otlp_endpoint=url, log="off", slow_s=60.0)


@pytest.mark.parametrize("name", ["continued", "cut", "escalate", "experiment", "fallback", "messages", "unauthorised"])
async def test_a_receiver_gets_the_golden_trace(name: str, tmp_path: Path) -> None:
    with collector() as there:
        async with traced(SCENARIOS[name], tmp_path, telemetry=told_to(there.url)) as world:
            await SCENARIOS[name].play(world)

    trace = traces_of([seen_over_otlp(span) for span in there.spans])[-1]
    assert text_of(trace, world.places) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    holds_together(trace)


async def test_requests_do_not_notice_a_collector_that_hangs(tmp_path: Path) -> None:
    goes_on = threading.Event()
    with collector(Manner(until=goes_on)) as there:
        async with traced(SCENARIOS["plain"], tmp_path, telemetry=told_to(there.url)) as world:
            first = await world.chat()
            assert there.came.wait(20)

            answers = [await world.chat() for _ in range(20)]
            goes_on.set()

    assert {answer.status_code for answer in [first, *answers]} == {200}
    assert len(traces_of([seen_over_otlp(span) for span in there.spans])) == 21
