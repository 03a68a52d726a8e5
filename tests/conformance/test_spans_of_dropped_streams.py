"""A stream that its client drops ends its span once, with what was used, and nothing complains of contexts."""

import asyncio
import io
import logging
from pathlib import Path

import pytest
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind
from servers.plain_client import chat_body, connected
from servers.running_gateway import QUIET, one_model, serving
from upstreams.fake_upstream import DONE, Until, fake_upstream, finish_chunk, sse_reply, text_chunk

from gateway.settings import Settings
from gateway.telemetry import names
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
from gateway.wiring import build_gateway

DROPPED, COMPLETE = 20, 5


def observer_into(exporter: InMemorySpanExporter) -> LiveObserver:
    redactor, metrics = Redactor(), Metrics()
    delivery = SpanDelivery(lambda: SpanExports(exporter, Spans(resource_of("turnout"), redactor)), metrics.dropped)
    return LiveObserver(
        delivery=delivery,
        tracing=Tracing(delivery.deliver, Sampling(1.0, slow_s=10.0), trusts=True),
        baggage=Baggage(()),
        metrics=metrics,
        shows_metrics=False,
        log=RequestLog("json", redactor, io.StringIO()),
        clock=asyncio.get_running_loop().time,
    )


async def drop_one(port: int) -> None:
    async with connected(port) as client:
        await client.ask(chat_body(stream=True))
        await client.until(b'"a"')
        client.kill()


async def complete_one(port: int) -> None:
    async with connected(port) as client:
        await client.ask(chat_body(stream=True))
        await client.until(b"[DONE]")


async def test_every_stream_ends_its_span_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    exporter, go_on = InMemorySpanExporter(), asyncio.Event()
    slow = sse_reply(text_chunk("a"), Until(go_on), finish_chunk(), DONE)
    file = tmp_path / "policy.yaml"
    settings = Settings(policy=file, port=0, telemetry=QUIET)
    async with fake_upstream(slow) as upstream:
        file.write_text(one_model(upstream.base))
        built = build_gateway(settings)
        built.gateway.observer = observer_into(exporter)
        with caplog.at_level(logging.WARNING):
            async with serving(built, settings) as gateway:
                await asyncio.gather(*[drop_one(gateway.port) for _ in range(DROPPED)])
                await gateway.until_empty()
                go_on.set()
                await asyncio.gather(*[complete_one(gateway.port) for _ in range(COMPLETE)])
                await gateway.until_empty()
            await built.gateway.observer.aclose()

    spans = [span for span in exporter.get_finished_spans() if span.kind == SpanKind.SERVER]
    ended = [(span.attributes or {})[names.OUTCOME] for span in spans]
    assert len({span.context.span_id for span in spans if span.context}) == len(spans) == DROPPED + COMPLETE
    assert (ended.count("cancelled"), ended.count("ok")) == (DROPPED, COMPLETE)
    assert all({names.INPUT_TOKENS, names.OUTPUT_TOKENS} <= set(span.attributes or {}) for span in spans)
    assert "context" not in caplog.text.lower()
