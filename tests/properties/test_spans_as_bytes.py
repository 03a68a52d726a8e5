"""What goes to a collector is what OpenTelemetry's own exporter would have sent, byte for byte."""

from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk import trace as sdk
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope
from opentelemetry.trace import Link, SpanContext, SpanKind, Status, StatusCode, TraceFlags, TraceState

from gateway.telemetry.otlp import Event, Scope, Span, request_of

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=200)
INSTANTS = st.integers(1, 2**64 - 1)
VALUES = st.one_of(TEXTS, st.booleans(), st.integers(-(2**63), 2**63 - 1), st.floats(), st.lists(TEXTS, max_size=3))
ATTRIBUTES = st.dictionaries(TEXTS, VALUES, max_size=4)
STATES = st.sampled_from([TraceState(), TraceState([("ot", "th:fd70a3d70a3d7")]), TraceState([("a", "1"), ("b", "2")])])
CONTEXTS = st.builds(
    SpanContext,
    st.integers(0, 2**128 - 1),
    st.integers(0, 2**64 - 1),
    st.booleans(),
    st.just(TraceFlags(TraceFlags.SAMPLED)),
    STATES,
)
STATUSES = st.one_of(st.just(Status(StatusCode.UNSET)), TEXTS.map(lambda text: Status(StatusCode.ERROR, text)))
SPANS = st.builds(
    Span,
    name=TEXTS,
    context=CONTEXTS,
    parent=st.none() | CONTEXTS,
    kind=st.sampled_from(SpanKind),
    attributes=ATTRIBUTES,
    status=STATUSES,
    start_time=INSTANTS,
    end_time=INSTANTS,
    events=st.lists(st.builds(Event, TEXTS, ATTRIBUTES, INSTANTS), max_size=2),
    links=st.lists(st.builds(Link, CONTEXTS, ATTRIBUTES), max_size=2),
)


def as_the_sdk_has_it(span: Span, scope: Scope) -> sdk.ReadableSpan:
    return sdk.ReadableSpan(
        name=span.name,
        context=span.context,
        parent=span.parent,
        kind=span.kind,
        attributes=span.attributes,
        status=span.status,
        start_time=span.start_time,
        end_time=span.end_time,
        events=[sdk.Event(event.name, event.attributes, event.timestamp) for event in span.events],
        links=span.links,
        resource=Resource(dict(scope.resource)),
        instrumentation_scope=InstrumentationScope(scope.name),
    )


@given(st.lists(SPANS, min_size=1, max_size=3), TEXTS.filter(bool))
def test_an_export_is_the_bytes_of_the_sdk(spans: list[Span], service: str) -> None:
    scope = Scope("turnout", {"service.name": service, "service.version": "1"})

    ours = request_of(spans, scope)

    assert ours == encode_spans([as_the_sdk_has_it(span, scope) for span in spans]).SerializeToString()
