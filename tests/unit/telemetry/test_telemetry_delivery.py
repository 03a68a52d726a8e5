"""Spans leave through OTLP/HTTP, off the path of requests, and a collector that is away costs a counter."""

import re
import socket
import threading
import time
from collections.abc import Iterator

import pytest
from opentelemetry import trace
from servers.collector import Collector, Manner, collector
from telemetry_world import SMALL, TRACEPARENT, decision, facts, settlement

from gateway.telemetry.opening import build_observer
from gateway.telemetry.traces.export import QUEUE, WAKES
from gateway.telemetry.unseen import NullObserver


@pytest.fixture
def there() -> Iterator[Collector]:
    with collector() as opened:
        yield opened


def one_request(observer, headers=None):
    request = observer.begin(headers or {}, "POST", "/v1/chat/completions")
    request.decided(facts(), decision(SMALL), None)
    attempt = request.attempt(SMALL, 1)
    attempt.end("", None)
    request.settle(settlement(request.request_id, decision=decision(SMALL), answered_by=SMALL))
    return attempt


async def test_a_request_arrives_whole_at_a_collector(there):
    observer = build_observer(traces="otlp", otlp_endpoint=there.url, log="off", service_name="gw-1")

    one_request(observer)
    await observer.aclose()

    (received,) = there.received
    (resource,) = received.request.resource_spans
    assert received.path == "/v1/traces"
    assert {span.name for span in received.spans} == {"POST /v1/chat/completions", "route", "chat small"}
    assert ("service.name", "gw-1") in [(a.key, a.value.string_value) for a in resource.resource.attributes]


async def test_only_the_share_that_is_sampled_leaves_and_a_caller_may_ask_for_more(there):
    observer = build_observer(traces="otlp", otlp_endpoint=there.url, log="off", sampled=0.0)

    one_request(observer)
    one_request(observer, {"traceparent": TRACEPARENT})
    await observer.aclose()

    assert {span.trace_id.hex() for span in there.spans} == {TRACEPARENT.split("-")[1]}


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


@pytest.mark.parametrize("status", [400, 500])
async def test_a_collector_that_refuses_costs_a_counter(status):
    with collector(Manner(status=status)) as there:
        observer = build_observer(traces="otlp", otlp_endpoint=there.url, log="off")
        one_request(observer)

        await observer.aclose(within_s=20)

    assert b'router_telemetry_dropped_total{router_signal="span"} 3.0' in observer.metrics_page()


async def test_behind_a_collector_that_hangs_few_traces_wait_and_each_span_is_delivered_or_counted():
    goes_on, asked = threading.Event(), 4_000
    with collector(Manner(until=goes_on)) as there:
        observer = build_observer(traces="otlp", otlp_endpoint=there.url, log="off")
        for _ in range(WAKES):
            one_request(observer)
        assert there.came.wait(20)
        for _ in range(asked):
            one_request(observer)
        counted = dropped(observer)

        await observer.aclose(within_s=0.01)
        goes_on.set()

    assert 3 * (asked - QUEUE) <= counted <= 3 * (asked - QUEUE + WAKES)
    assert dropped(observer) == 3 * (WAKES + asked) - len(there.spans)


def dropped(observer) -> float:
    found = re.search(rb'router_telemetry_dropped_total\{router_signal="span"\} (\S+)', observer.metrics_page())
    assert found is not None
    return float(found[1])


async def test_nothing_global_is_set(there):
    before = trace.get_tracer_provider()

    first = build_observer(traces="otlp", otlp_endpoint=there.url, log="off")
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
