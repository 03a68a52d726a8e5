"""An observer whose spans stay in memory, and requests played by hand."""

import io
from dataclasses import dataclass, field

from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families

from backends.messages import Usage
from gateway.request.settlement import Settlement
from gateway.secrets import Secret
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
from policies.decision import Call, Candidate, Decision, Dropped, Reject
from policies.estimates import Estimate
from policies.facts import Facts

SMALL = Call("small", "http://10.0.0.1:8000")
LARGE = Call("large", "in-process:large")
CANARY = "canary-9f2c"
TRACEPARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"


@dataclass(slots=True)
class World:
    """`observer` under test, with what came out of it."""

    observer: LiveObserver
    exporter: InMemorySpanExporter
    metrics: Metrics
    lines: io.StringIO
    now: float = 100.0
    spans: tuple[ReadableSpan, ...] = field(default=())

    def passes(self, seconds: float) -> None:
        self.now += seconds

    def begin(self, headers=None):
        return self.observer.begin(headers or {}, "POST", "/v1/chat/completions")

    def metric(self, name: str, **labels: str) -> float | None:
        families = text_string_to_metric_families(self.metrics.page().decode())
        samples = [sample for family in families for sample in family.samples]
        return next((sample.value for sample in samples if (sample.name, sample.labels) == (name, labels)), None)

    async def over(self) -> tuple[ReadableSpan, ...]:
        await self.observer.aclose()
        self.spans = self.exporter.get_finished_spans()
        return self.spans


def open_world(*, share: float = 1.0, trusts: bool = True) -> World:
    """One policy in force, with route `chat` and models `small` and `large`; its canary secret must never come out."""
    exporter, metrics, lines = InMemorySpanExporter(), Metrics(), io.StringIO()
    redactor = Redactor([Secret(CANARY)])
    metrics.policy_loaded("0123456789abcdef", ["chat"], ["small", "large"])
    made: World
    delivery = SpanDelivery(lambda: SpanExports(exporter, Spans(resource_of("turnout"), redactor)), metrics.dropped)
    observer = LiveObserver(
        delivery=delivery,
        tracing=Tracing(delivery.deliver, Sampling(share, slow_s=10.0), trusts=trusts),
        baggage=Baggage(["10.0.0.1"]),
        metrics=metrics,
        shows_metrics=True,
        log=RequestLog("json", redactor, lines),
        clock=lambda: made.now,
    )
    made = World(observer, exporter, metrics, lines)
    return made


def decision(*steps: Call | Reject, reason: str = "easy: p_good 0.93 is enough") -> Decision:
    return Decision(
        steps=steps,
        route="chat",
        reason=reason,
        policy_hash="0123456789abcdef",
        candidates=tuple(Candidate(step.model, step.replica) for step in steps if isinstance(step, Call)),
        dropped=(Dropped("tiny", "fits", "window of 512 tokens"),),
    )


def estimate() -> Estimate:
    return Estimate(p_good={"small": 0.93, "large": 0.97}, artefact="demo", took_us=800)


def facts(stream: bool = False) -> Facts:
    return Facts(prompt_tokens=120, stream=stream)


def settlement(request_id: str, **changes) -> Settlement:
    plain = {
        "request_id": request_id,
        "dialect": "openai_chat",
        "tenant": "acme",
        "stream": False,
        "status": 200,
        "end": "stop",
        "attempts": 1,
        "duration_ms": 250.0,
    }
    return Settlement(**plain | changes)


USAGE = Usage(120, 30, 96)
