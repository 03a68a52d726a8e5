"""The trace of a request beside its shape (which tests/traces has): whose it is, what goes on, and that it ends once."""

from opentelemetry.trace import format_span_id, format_trace_id
from telemetry_world import SMALL, TRACEPARENT, USAGE, decision, facts, settlement


async def test_a_callers_trace_is_continued_and_handed_on(world):
    request = world.begin({"traceparent": TRACEPARENT, "tracestate": "vendor=1"})
    attempt = request.attempt(SMALL, 1)
    headers = dict(attempt.headers)
    request.settle(settlement(request.request_id))

    served, asked = await world.over()

    trace_id, parent_id = TRACEPARENT.split("-")[1:3]
    assert format_trace_id(served.context.trace_id) == trace_id
    assert format_span_id(served.parent.span_id) == parent_id
    assert headers == {
        "traceparent": f"00-{trace_id}-{format_span_id(asked.context.span_id)}-01",
        "tracestate": "vendor=1",
    }


async def test_a_malformed_trace_context_starts_a_trace_of_our_own(world):
    request = world.begin({"traceparent": "00-zz\r\nevil-1-01"})
    request.settle(settlement(request.request_id))

    (served,) = await world.over()

    assert served.parent is None


async def test_dropped_streams_end_their_spans_once(world, caplog):
    for n in range(25):
        request = world.begin()
        request.decided(facts(stream=True), decision(SMALL), None)
        attempt = request.attempt(SMALL, 1)
        left = n < 20
        for _ in range(2):
            attempt.end("cancelled" if left else "", USAGE)
            request.settle(
                settlement(request.request_id, usage=USAGE, end="cancelled" if left else "stop", answered_by=SMALL)
            )

    spans = [span for span in await world.over() if span.name.startswith("POST")]

    outcomes = [span.attributes["router.outcome"] for span in spans]
    assert (outcomes.count("cancelled"), outcomes.count("ok")) == (20, 5)
    assert all("gen_ai.usage.output_tokens" in span.attributes for span in spans)
    assert not [record for record in caplog.records if "context" in record.message.lower()]
