"""The trace of each kind of request, span by span, against the files in golden/, through the real app.

A change of names or shape shows as a diff there: `python tests/traces/write_golden.py` writes the files anew.
"""

import re
from pathlib import Path

import pytest
from engine.stub_models import ScriptModel, StubVocabulary
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from servers.in_process import in_process_gateway
from traces.scenarios import SCENARIOS
from traces.span_text import Seen, seen_in_memory, text_of, traces_of
from traces.traced_world import TRACE_ID, Scenario, Traced, observer_into, traced

from gateway.telemetry import names

GOLDEN = Path(__file__).parent / "golden"
NAMES = {value for key, value in vars(names).items() if key.isupper() and isinstance(value, str)}


async def played(scenario: Scenario, folder: Path) -> tuple[list[Seen], Traced]:
    """The trace of its last request."""
    exporter = InMemorySpanExporter()
    async with traced(scenario, folder, exporter) as world:
        await scenario.play(world)
    return traces_of([seen_in_memory(span) for span in exporter.get_finished_spans()])[-1], world


async def in_process(folder: Path) -> list[Seen]:
    exporter = InMemorySpanExporter()
    model, words = ScriptModel([1, 2, 0], prompt=2), StubVocabulary({1: " wor", 2: "ld"}, eos=0)
    async with in_process_gateway(model, words, folder) as (gateway, _):
        gateway.gateway.observer = observer_into(exporter)
        await Traced(gateway, (), {}).chat(stream=True)
        await gateway.until_empty()
        await gateway.gateway.observer.aclose()
    return traces_of([seen_in_memory(span) for span in exporter.get_finished_spans()])[-1]


@pytest.mark.parametrize("name", SCENARIOS)
async def test_the_trace_of_a_request_is_the_golden_one(name: str, tmp_path: Path) -> None:
    trace, world = await played(SCENARIOS[name], tmp_path)

    assert text_of(trace, world.places) == (GOLDEN / f"{name}.txt").read_text(encoding="utf-8")
    holds_together(trace)


async def test_an_engine_in_this_process_is_an_internal_span_without_an_address(tmp_path: Path) -> None:
    trace = await in_process(tmp_path)

    assert text_of(trace, {}) == (GOLDEN / "in_process.txt").read_text(encoding="utf-8")
    holds_together(trace)


def test_every_golden_trace_has_its_scenario() -> None:
    assert {path.stem for path in GOLDEN.iterdir()} == {*SCENARIOS, "in_process"}


def holds_together(trace: list[Seen]) -> None:
    """What is so of every trace, whatever happened."""
    root, *others = trace
    children = [span for span in others if span.trace_id == root.trace_id]
    known = {span.span_id for span in trace}
    assert len(known) == len(trace)
    assert {span.state for span in trace} == {root.state}
    for span in children:
        assert span.parent_id == root.span_id
        assert root.started_at <= span.started_at <= span.ended_at <= root.ended_at, span.name
    for span in others:
        assert all(span_id in known for _, span_id, _ in span.links)
    for span in trace:
        assert set(span.attributes) <= NAMES
        assert all(name in NAMES and set(attributes) <= NAMES for name, attributes in span.events)
        assert all(set(attributes) <= NAMES for _, _, attributes in span.links)
        assert re.fullmatch(r"[0-9a-f]{32}", span.trace_id)


async def test_what_goes_to_the_upstream_continues_the_callers_trace(tmp_path: Path) -> None:
    trace, world = await played(SCENARIOS["continued"], tmp_path)

    (asked,) = [span for span in trace if span.name == "chat m"]
    sent = world.upstreams[0].last
    assert sent.header("traceparent") == f"00-{TRACE_ID}-{asked.span_id}-01"
    assert sent.header("tracestate") == "vendor=1"


async def test_a_caller_who_is_not_trusted_is_linked_to_and_goes_no_further(tmp_path: Path) -> None:
    trace, world = await played(SCENARIOS["linked"], tmp_path)

    (link,) = trace[0].links
    sent = world.upstreams[0].last
    assert link[:2] == (TRACE_ID, "b7ad6b7169203331")
    assert trace[0].trace_id != TRACE_ID
    assert (sent.header("traceparent") or "").split("-")[1] == trace[0].trace_id
    assert sent.header("tracestate") == "ot=th:0"
