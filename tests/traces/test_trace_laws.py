"""Whatever happens to a request, in whatever order, its trace holds together."""

import asyncio
import io

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from traces.span_text import seen_in_memory, traces_of
from traces.test_golden_traces import holds_together

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.telemetry import names, words
from gateway.telemetry.live import LiveObserver
from gateway.telemetry.logs import RequestLog
from gateway.telemetry.metrics.metrics import Metrics
from gateway.telemetry.redact import Redactor
from gateway.telemetry.traces.baggage import Baggage
from gateway.telemetry.traces.export import SpanDelivery
from gateway.telemetry.traces.exporters import SpanExports
from gateway.telemetry.traces.sampling import Sampling
from gateway.telemetry.traces.spans import Spans, resource_of
from gateway.telemetry.traces.tracing import Tracing
from policies.decision import Call, Decision
from policies.facts import Facts

CALLS = (Call("small", "http://a:1/v1"), Call("small", "http://b:1/v1"), Call("large", "in-process:large"))
DECISION = Decision(steps=CALLS, route="r", reason="because", policy_hash="h")
STEPS = st.one_of(
    st.tuples(st.just("ask"), st.sampled_from(CALLS)),
    st.tuples(st.just("speak"), st.integers(0, 3)),
    st.tuples(st.just("end"), st.tuples(st.integers(0, 3), st.sampled_from(["", "cancelled", *words.KINDS]))),
    st.tuples(st.just("decide"), st.none()),
)
ENDS = st.sampled_from(["stop", "length", "cancelled", "error", "rejected"])
JUDGED = st.sampled_from(["", "kept", "over_limit", "escalated", "turned_back"])


@given(st.lists(STEPS, max_size=20), ENDS, st.sampled_from([200, 400, 429, 499, 502]), JUDGED, st.booleans())
def test_a_trace_holds_together_whatever_happened(steps, end, status, judgement, spoke):
    exporter, metrics, redactor = InMemorySpanExporter(), Metrics(), Redactor()
    delivery = SpanDelivery(lambda: SpanExports(exporter, Spans(resource_of("turnout"), redactor)), metrics.dropped)
    observer = LiveObserver(
        delivery=delivery,
        tracing=Tracing(delivery.deliver, Sampling(1.0, slow_s=1.0), trusts=True),
        baggage=Baggage(()),
        metrics=metrics,
        shows_metrics=True,
        log=RequestLog("json", redactor, io.StringIO()),
        clock=lambda: 0.0,
    )
    request, attempts = observer.begin({}, "POST", "/v1/chat/completions"), []
    for step, told in steps:
        if step == "ask":
            attempts.append(request.attempt(told, len(attempts) + 1))
        elif step == "decide":
            request.decided(Facts(prompt_tokens=1), DECISION, None, 1_000)
        elif step == "speak" and told < len(attempts):
            attempts[told].first_content()
        elif step == "end" and told[0] < len(attempts):
            attempts[told[0]].end(told[1], Usage(1, 1))
    settlement = Settlement(
        request_id=request.request_id, dialect="openai_chat", tenant="t", stream=True, status=status, end=end,
        attempts=len(attempts), duration_ms=3.0, ttft_ms=1.0 if spoke else None, decision=DECISION,
        answered_by=CALLS[0], judgement=judgement, p_correct=0.5 if judgement else None,
    )  # fmt: skip
    request.settle(settlement)
    request.settle(settlement)
    asyncio.run(observer.aclose())

    (trace,) = traces_of([seen_in_memory(span) for span in exporter.get_finished_spans()])
    holds_together(trace)
    assert len([span for span in trace if names.ATTEMPT_NUMBER in span.attributes]) == len(attempts)
    assert sum(len(span.links) for span in trace) == max(0, len(attempts) - 1)
