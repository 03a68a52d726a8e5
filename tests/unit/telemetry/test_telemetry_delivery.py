"""Spans leave through OTLP/HTTP, off the path of requests, and a collector that is away costs a counter."""

import socket
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from opentelemetry import trace
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from telemetry_world import SMALL, TRACEPARENT, decision, facts, settlement

from gateway.telemetry.observe import NullObserver, build_observer


class Collector(ThreadingHTTPServer):
    """Takes OTLP/HTTP on a free port."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiver)
        self.received: list[tuple[str, ExportTraceServiceRequest]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Receiver(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.server.received.append((self.path, ExportTraceServiceRequest.FromString(body)))
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def one_request(observer, headers=None):
    request = observer.begin(headers or {}, "POST", "/v1/chat/completions")
    request.decided(facts(), decision(SMALL), None)
    attempt = request.attempt(SMALL, 1)
    attempt.end("", None)
    request.settle(settlement(request.request_id, decision=decision(SMALL), answered_by=SMALL))
    return attempt


async def test_a_request_arrives_whole_at_a_collector(collector):
    observer = build_observer(traces="otlp", otlp_endpoint=collector.url, log="off", service_name="gw-1")

    one_request(observer)
    await observer.aclose()

    ((path, request),) = collector.received
    (resource,) = request.resource_spans
    names = {span.name for scope in resource.scope_spans for span in scope.spans}
    assert path == "/v1/traces"
    assert names == {"POST /v1/chat/completions", "route", "chat small"}
    assert ("service.name", "gw-1") in [(a.key, a.value.string_value) for a in resource.resource.attributes]


async def test_only_the_share_that_is_sampled_leaves_and_a_caller_may_ask_for_more(collector):
    observer = build_observer(traces="otlp", otlp_endpoint=collector.url, log="off", sampled=0.0)

    one_request(observer)
    one_request(observer, {"traceparent": TRACEPARENT})
    await observer.aclose()

    spans = [span for _, r in collector.received for rs in r.resource_spans for s in rs.scope_spans for span in s.spans]
    assert {span.trace_id.hex() for span in spans} == {TRACEPARENT.split("-")[1]}


async def test_a_dead_collector_costs_a_counter():
    with socket.socket() as reserved:
        reserved.bind(("127.0.0.1", 0))
        observer = build_observer(
            traces="otlp", otlp_endpoint=f"http://127.0.0.1:{reserved.getsockname()[1]}", log="off"
        )
        one_request(observer)

        await observer.aclose(within_s=20)

    assert b'router_telemetry_dropped_total{router_signal="span"} 3.0' in observer.metrics_page()


async def test_closing_keeps_its_deadline_though_the_collector_hangs():
    with socket.socket() as hung:
        hung.bind(("127.0.0.1", 0))
        hung.listen()
        observer = build_observer(traces="otlp", otlp_endpoint=f"http://127.0.0.1:{hung.getsockname()[1]}", log="off")
        one_request(observer)

        started = time.perf_counter()
        await observer.aclose(within_s=0.1)

        assert time.perf_counter() - started < 3.0


async def test_nothing_global_is_set(collector):
    before = trace.get_tracer_provider()

    first = build_observer(traces="otlp", otlp_endpoint=collector.url, log="off")
    second = build_observer(log="off")

    assert trace.get_tracer_provider() is before
    one_request(first)
    assert b'router_attempts_total{gen_ai_request_model="other"} 1.0' in first.metrics_page()
    assert b'router_attempts_total{gen_ai_request_model="other"}' not in second.metrics_page()
    await first.aclose()


def test_without_traces_the_callers_context_passes_through():
    observer = build_observer(log="off")

    assert one_request(observer, {"traceparent": TRACEPARENT}).headers == {"traceparent": TRACEPARENT}
    assert one_request(observer).headers == {}


def test_all_off_is_the_observer_that_sees_nothing():
    observer = build_observer(metrics=False, log="off")

    assert isinstance(observer, NullObserver)
    assert observer.metrics_page() == b""
    assert observer.begin({}, "GET", "/").request_id != observer.begin({}, "GET", "/").request_id


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(ValueError, match="address of a collector"):
        build_observer(traces="otlp")
    with pytest.raises(ValueError, match="between 0 and 1"):
        build_observer(sampled=1.5)
