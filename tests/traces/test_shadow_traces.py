"""A shadow's call is a trace of its own, linked to the request's; the request's own trace is as without shadows."""

from pathlib import Path

from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from traces.traced_world import Scenario, Traced, traced
from upstreams.fake_upstream import chat_either, json_reply

from gateway.telemetry import names

PLAIN = "policy: 1\nmodels: {{m: {{at: '{A}/v1'}}, b: {{at: '{B}/v1'}}}}\nroutes: [{{name: r, use: m}}]\n"
SHADOWED = f"{PLAIN}shadows: [{{{{name: s, of: r, to: b, sample: 100%}}}}]\n"


async def spans_of(policy: str, folder: Path, shadow: object = None):
    exporter = InMemorySpanExporter()
    scripts = {"A": [chat_either("one")], "B": [shadow or chat_either("two")]}

    async def play(world: Traced) -> None:
        await world.chat(stream=True)

    async with traced(Scenario(policy, play, scripts), folder, exporter) as world:
        await play(world)
        shadows = world.gateway.gateway.shadows
        await world.gateway.until(lambda _: all(c.results for c in shadows.chapters.values()) and not shadows.busy)
    return exporter.get_finished_spans()


async def test_a_shadow_has_a_trace_of_its_own_that_is_linked_to_the_request(tmp_path: Path):
    spans = await spans_of(SHADOWED, tmp_path)

    shadow = next(span for span in spans if names.SHADOW in span.attributes)
    server = next(span for span in spans if span.name.startswith("POST "))
    assert shadow.parent is None
    assert shadow.context.trace_id != server.context.trace_id
    (link,) = shadow.links
    assert (link.context.trace_id, link.context.span_id) == (server.context.trace_id, server.context.span_id)
    assert link.attributes == {names.LINK_TYPE: "shadow"}
    assert shadow.attributes[names.REQUEST_MODEL] == "b"
    assert shadow.attributes[names.OUTCOME] == "ok"


async def test_a_request_that_is_shadowed_has_the_spans_that_it_has_without(tmp_path: Path):
    of_request = [span.name for span in await spans_of(PLAIN, tmp_path)]

    beside = await spans_of(SHADOWED, tmp_path, json_reply({"error": {"message": "no"}}, 500))

    assert [span.name for span in beside if names.SHADOW not in span.attributes] == of_request
    (shadow,) = [span for span in beside if names.SHADOW in span.attributes]
    assert shadow.attributes[names.ERROR_TYPE] == "rejected"
