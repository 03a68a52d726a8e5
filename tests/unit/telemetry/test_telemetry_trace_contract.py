"""The trace of each kind of request, span by span, against the files in golden/."""

from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import format_span_id, format_trace_id
from telemetry_world import LARGE, SMALL, TRACEPARENT, USAGE, decision, estimate, facts, settlement

from policies.decision import Reject

GOLDEN = Path(__file__).parent / "golden"
PASSING_IDS = ("router.request.id",)


def plain(world) -> None:
    request = world.begin()
    request.decided(facts(), decision(SMALL), estimate(), 180)
    attempt = request.attempt(SMALL, 1, predicted_tokens=96)
    world.passes(0.25)
    attempt.first_content()
    attempt.end("", USAGE)
    request.settle(
        settlement(
            request.request_id, decision=decision(SMALL), answered_by=SMALL, usage=USAGE, microusd=21, ttft_ms=250
        )
    )


def stream(world) -> None:
    request = world.begin({"traceparent": TRACEPARENT})
    request.decided(facts(stream=True), decision(LARGE), None)
    attempt = request.attempt(LARGE, 1)
    world.passes(0.125)
    attempt.first_content()
    world.passes(1)
    attempt.end("", USAGE)
    request.settle(
        settlement(
            request.request_id,
            stream=True,
            decision=decision(LARGE),
            answered_by=LARGE,
            usage=USAGE,
            end="length",
            ttft_ms=125,
        )
    )


def fallback(world) -> None:
    chosen = decision(SMALL, SMALL, LARGE)
    request = world.begin()
    request.decided(facts(), chosen, estimate(), 180)
    request.attempt(SMALL, 1).end("connect_failed", None)
    request.attempt(SMALL, 2).end("overloaded", None)
    request.attempt(LARGE, 3).end("", USAGE)
    request.settle(
        settlement(
            request.request_id,
            decision=chosen,
            reason="large: fallback, small failed (connect_failed), small failed (overloaded)",
            answered_by=LARGE,
            usage=USAGE,
            attempts=3,
            microusd=90,
            ttft_ms=200,
        )
    )


def rejected(world) -> None:
    refusal = decision(Reject("context_length_exceeded", "9000 tokens do not fit"), reason="nothing fits")
    request = world.begin()
    request.decided(facts(), refusal, None, 50)
    request.settle(
        settlement(
            request.request_id,
            decision=refusal,
            status=400,
            end="rejected",
            attempts=0,
            error_code="context_length_exceeded",
        )
    )


def cancelled(world) -> None:
    request = world.begin()
    request.decided(facts(stream=True), decision(SMALL), None)
    request.attempt(SMALL, 1).first_content()
    request.settle(
        settlement(
            request.request_id,
            stream=True,
            decision=decision(SMALL),
            answered_by=SMALL,
            usage=USAGE,
            status=499,
            end="cancelled",
            error_code="client_left",
            ttft_ms=10,
        )
    )


def stream_cut(world) -> None:
    request = world.begin()
    request.decided(facts(stream=True), decision(SMALL), None)
    attempt = request.attempt(SMALL, 1)
    attempt.first_content()
    attempt.end("stream_cut", USAGE)
    request.settle(
        settlement(
            request.request_id,
            stream=True,
            decision=decision(SMALL),
            answered_by=SMALL,
            usage=USAGE,
            end="error",
            error_code="upstream_disconnected",
            ttft_ms=10,
        )
    )


def all_failed(world) -> None:
    request = world.begin()
    request.decided(facts(), decision(SMALL), None)
    request.attempt(SMALL, 1).end("first_content_timeout", None)
    request.settle(
        settlement(
            request.request_id, decision=decision(SMALL), status=504, end="error", error_code="first_token_timeout"
        )
    )


SCENARIOS = (plain, stream, fallback, rejected, cancelled, stream_cut, all_failed)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.__name__)
async def test_the_trace_of_a_request_is_the_golden_one(world, scenario):
    scenario(world)

    spans = await world.over()

    assert tree(spans) == (GOLDEN / f"{scenario.__name__}.txt").read_text(encoding="utf-8")


async def test_a_callers_trace_is_continued_and_handed_on(world):
    request = world.begin({"traceparent": TRACEPARENT, "tracestate": "vendor=1"})
    attempt = request.attempt(SMALL, 1)
    headers = dict(attempt.headers)
    request.settle(settlement(request.request_id))

    asked, served = await world.over()

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


def tree(spans: tuple[ReadableSpan, ...]) -> str:
    """The spans as indented text, children in the order in which they started; ids are left out."""
    root = next(span for span in spans if span.name.startswith("POST"))
    children = sorted((span for span in spans if span is not root), key=lambda span: span.start_time)
    assert {span.parent.span_id for span in children} == ({root.context.span_id} if children else set())
    return "".join([_span(root, "", spans), *(_span(child, "  ", spans) for child in children)])


def _span(span: ReadableSpan, indent: str, spans: tuple[ReadableSpan, ...]) -> str:
    error = f"  ERROR {span.status.description}" if span.status.status_code.name == "ERROR" else ""
    lines = [f"{indent}{span.kind.name} {span.name}{error}"]
    lines += [f"{indent}  {name} = {value}" for name, value in span.attributes.items() if name not in PASSING_IDS]
    for link in span.links:
        to = next(other for other in spans if other.context.span_id == link.context.span_id)
        lines.append(f"{indent}  link to attempt {to.attributes['router.attempt']}: {dict(link.attributes)}")
    return "\n".join(lines) + "\n"
