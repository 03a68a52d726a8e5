"""Metrics: shown before they happen, counted once, and bounded whatever clients send."""

import json
import re

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from prometheus_client import generate_latest
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.openmetrics.parser import text_string_to_metric_families as openmetrics_families
from prometheus_client.parser import text_string_to_metric_families
from telemetry_world import CANARY, LARGE, SMALL, USAGE, decision, estimate, facts, open_world, settlement

from backends.messages import Usage
from gateway.telemetry import names, words
from gateway.telemetry.metrics import instruments
from gateway.telemetry.metrics.labels import MAX_NAMES
from gateway.telemetry.metrics.metric import prometheus_label, prometheus_name
from gateway.telemetry.metrics.metrics import MAX_FOUND, Metrics
from gateway.telemetry.metrics.series import MAX_SERIES
from policies.decision import Call, Decision


def answered(world, call=SMALL, **changes) -> None:
    request = world.begin()
    request.decided(facts(), decision(call), estimate(), 180)
    request.attempt(call, 1, predicted_tokens=64).end("", USAGE)
    known = {"decision": decision(call), "answered_by": call, "usage": USAGE, "microusd": 21, "ttft_ms": 40.0}
    request.settle(settlement(request.request_id, **known | changes))


def series(page: bytes) -> int:
    return sum(not line.startswith("#") for line in page.decode().splitlines())


def test_series_of_the_policy_are_there_before_any_request(world):
    assert (
        world.metric("router_requests_total", router_route="chat", gen_ai_response_model="small", router_outcome="cut")
        == 0
    )
    assert world.metric("router_upstream_errors_total", gen_ai_request_model="large", error_type="gap_timeout") == 0


def test_one_answer_counts_once_in_every_metric(world):
    answered(world)

    small = {"gen_ai_response_model": "small"}
    asked = {"gen_ai_request_model": "small"}
    assert world.metric("router_requests_total", router_route="chat", router_outcome="ok", **small) == 1
    assert world.metric("gen_ai_server_request_duration_seconds_count", router_outcome="ok", **small) == 1
    assert world.metric("gen_ai_server_time_to_first_token_seconds_sum", **small) == 0.04
    assert world.metric("gen_ai_client_inference_usage_input_tokens_total", **small) == 120
    assert world.metric("gen_ai_client_inference_usage_output_tokens_total", **small) == 30
    assert world.metric("gen_ai_client_inference_usage_cache_read_input_tokens_total", **small) == 96
    assert world.metric("router_spend_microusd_total", router_route="chat", **small) == 21
    assert world.metric("router_attempts_total", **asked) == 1
    there = {**asked, "router_replica": "10.0.0.1:8000"}
    assert world.metric("router_prefix_predicted_tokens_total", **there) == 64
    assert world.metric("router_prefix_reused_tokens_total", **there) == 96
    assert world.metric("router_decision_duration_seconds_sum") == 180e-6
    assert world.metric("router_estimates_total", router_estimate="answered") == 1


def test_in_flight_returns_to_zero_however_requests_end_and_however_often_they_are_settled(world):
    requests = [world.begin() for _ in range(5)]
    assert world.metric("http_server_active_requests") == 5

    for request, end in zip(requests, ("stop", "cancelled", "error", "rejected", "length"), strict=True):
        request.settle(settlement(request.request_id, end=end))
        request.settle(settlement(request.request_id, end=end))

    assert world.metric("http_server_active_requests") == 0


def test_an_error_before_content_and_one_behind_it_are_counted_apart_in_whatever_order_they_come(world):
    for ttft_ms in (40.0, None, 40.0, None, None):
        answered(world, end="error", ttft_ms=ttft_ms)

    small = {"router_route": "chat", "gen_ai_response_model": "small"}
    assert world.metric("router_requests_total", router_outcome="cut", **small) == 2
    assert world.metric("router_requests_total", router_outcome="error", **small) == 3
    assert world.metric("gen_ai_server_time_to_first_token_seconds_count", gen_ai_response_model="small") == 2


def test_an_attempt_that_nobody_ended_is_counted_when_the_request_is_over(world):
    request = world.begin()
    request.attempt(LARGE, 1)

    request.settle(settlement(request.request_id, end="cancelled"))

    assert world.metric("router_attempts_total", gen_ai_request_model="large") == 1
    assert all(
        world.metric("router_upstream_errors_total", gen_ai_request_model="large", error_type=kind) == 0
        for kind in words.KINDS
    )


def test_however_many_hostile_names_come_there_are_as_many_series(world):
    """The count after 10 and after 100,000 is the same, so it is after a million: nothing is added for a name."""
    answered(world)
    answered(world, Call("x", "http://h"))
    counts = {}

    for n in range(100_001):
        hostile = f'm{n}"}} 1\n{CANARY}'
        call = Call("small" if n % 2 else hostile, hostile)
        world.metrics.attempted(call, 0.1, hostile, USAGE, 1, 0.05)
        if n % 4 == 0 or n < 10:
            decided = Decision(steps=(SMALL,), route=hostile, reason="", policy_hash="")
            told = {"decision": decided, "answered_by": call, "usage": USAGE, "microusd": 1, "error_code": hostile}
            world.metrics.in_flight.value += 1
            world.metrics.settled(settlement("r", tenant=hostile, **told))
        if n in (10, 100_000):
            counts[n] = series(world.observer.metrics_page())

    assert counts[10] == counts[100_000] < 2_000
    assert CANARY.encode() not in world.observer.metrics_page()


async def test_a_histogram_shows_a_trace_that_was_kept_and_nothing_else_of_it():
    kept, left = open_world(share=1.0), open_world(share=0.0)
    for world in (kept, left):
        answered(world)

    with_trace, without = (world.observer.metrics_page(exemplars=True).decode() for world in (kept, left))

    kept.observer.flush()
    ids = {json.loads(line)["trace_id"] for line in kept.lines.getvalue().splitlines()}
    exemplars = re.findall(r"# (\{.*?\})", with_trace)
    assert set(exemplars) == {f'{{trace_id="{trace_id}"}}' for trace_id in ids}
    assert "trace_id" not in without
    assert {family.name for family in openmetrics_families(with_trace)} == {
        family.name for family in openmetrics_families(without)
    }
    assert "trace_id" not in kept.observer.metrics_page().decode()
    assert len(await kept.over()) == 3
    assert await left.over() == ()


def test_a_stream_has_the_time_of_each_token_after_the_first(world):
    answered(world, stream=True, duration_ms=2_940.0, ttft_ms=40.0)
    answered(world, stream=False, duration_ms=2_940.0, ttft_ms=40.0)

    tpot = "gen_ai_server_time_per_output_token_seconds"
    assert world.metric(f"{tpot}_count", gen_ai_response_model="small") == 1
    assert world.metric(f"{tpot}_sum", gen_ai_response_model="small") == pytest.approx(0.1)


def test_buckets_are_those_of_the_conventions():
    by_name = {metric.name: metric.buckets for metric in instruments.METRICS}

    assert by_name["gen_ai.client.inference.duration"][0] == 0.01
    assert by_name["gen_ai.client.inference.duration"][-1] == pytest.approx(81.92)
    assert by_name["gen_ai.client.inference.time_to_first_chunk"] == by_name["gen_ai.client.inference.duration"]
    assert by_name["gen_ai.server.request.duration"] == by_name["gen_ai.client.inference.duration"]
    assert by_name["gen_ai.client.inference.operation.input_tokens"][-1] == 67_108_864


def test_policies_that_come_and_go_stay_within_the_bound():
    metrics = Metrics()

    for n in range(200):
        metrics.policy_loaded(f"{n:016x}", [f"route{n}"], [f"model{n}a", f"model{n}b"])

    page = metrics.page().decode()
    models = set(re.findall(r'gen_ai_request_model="(\w+)"', page))
    assert len(models) <= MAX_NAMES
    assert re.findall(r"router_policy_info\{.*", page) == [
        'router_policy_info{router_policy_hash="00000000000000c7"} 1.0'
    ]


def test_a_metric_with_too_many_label_sets_counts_the_rest_as_other():
    metrics = Metrics()
    metrics.policy_loaded("h", [f"r{n}" for n in range(90)], [f"m{n}" for n in range(90)])

    for route in range(90):
        for model in range(90):
            decided = Decision(steps=(SMALL,), route=f"r{route}", reason="", policy_hash="h")
            metrics.settled(settlement("r", decision=decided, answered_by=Call(f"m{model}", ""), microusd=1))

    spend = [line for line in metrics.page().decode().splitlines() if line.startswith("router_spend_microusd_total{")]
    assert len(spend) <= MAX_SERIES + 1
    assert sum(float(line.rsplit(" ", 1)[1]) for line in spend) == 90 * 90, "nothing is lost"


def test_groups_of_cells_are_remembered_up_to_a_bound_and_count_on_after_it():
    metrics = Metrics()
    metrics.policy_loaded("h", [], ["m"])

    for n in range(2 * MAX_FOUND):
        metrics.attempted(Call("m", f"http://10.0.{n // 250}.{n % 250}"), 0.1, "", USAGE, 1)

    assert len(metrics._reused) <= MAX_FOUND
    reused = re.findall(r"router_prefix_predicted_tokens_total\{.*\} (\S+)", metrics.page().decode())
    assert sum(map(float, reused)) == 2 * MAX_FOUND


def test_a_refused_reload_is_counted_and_leaves_the_policy_in_force(world):
    world.observer.policy_refused()

    assert world.metric("router_policy_reloads_total", router_reload="failed") == 1
    assert world.metric("router_policy_info", router_policy_hash="0123456789abcdef") == 1


def test_the_page_is_what_a_scraper_reads_and_has_every_named_metric(world):
    families = {
        family.name: family for family in text_string_to_metric_families(world.observer.metrics_page().decode())
    }

    for metric in instruments.METRICS:
        family = families[prometheus_name(metric)]
        assert (family.type, family.documentation) == (metric.kind, metric.question)
        assert all(
            set(sample.labels) - {"le"} == {prometheus_label(x) for x in metric.labels} for sample in family.samples
        )


@settings(max_examples=12, phases=(Phase.generate,))
@given(
    st.lists(
        st.tuples(st.sampled_from(["small", "large", "new"]), st.floats(0, 1e9), st.integers(0, 10**9)), max_size=30
    )
)
def test_the_page_is_byte_for_byte_what_the_client_library_writes_of_what_it_read(told):
    metrics = Metrics()
    metrics.policy_loaded('say "hi"\\\n', ['r"1\\', "r\n2"], ["small", "large"])
    for model, seconds, tokens in told:
        call, used = Call(model, "http://h:1"), Usage(tokens, tokens // 3, tokens // 2)
        metrics.attempted(call, seconds, "connect_failed", used, tokens, seconds / 7)
        decided = Decision(steps=(call,), route='r"1\\', reason="", policy_hash="")
        answered_by = {"decision": decided, "answered_by": call, "usage": used, "microusd": tokens, "ttft_ms": seconds}
        metrics.settled(settlement("r", duration_ms=seconds * 3, **answered_by), f"{tokens:032x}")

    plain, openmetrics = metrics.page(), metrics.page(exemplars=True)
    assert generate_latest(Read(text_string_to_metric_families(plain.decode()))) == plain
    assert timeless(generate_openmetrics(Read(openmetrics_families(openmetrics.decode())))) == timeless(openmetrics)
    assert openmetrics.count(b"trace_id") <= 4 * len(told)
    assert b"trace_id" in openmetrics or not told


def timeless(page):
    """Without the instants of exemplars, which the library reads to nine digits."""
    return re.sub(rb"(# \{.*\} \S+) \S+", rb"\1", page)


class Read:
    """Families as a registry gives them."""

    def __init__(self, families):
        self._families = list(families)

    def collect(self):
        return self._families


def test_every_name_is_written_once_and_asks_one_question():
    constants = [
        value for key, value in [*vars(names).items(), *vars(words).items()] if key.isupper() and isinstance(value, str)
    ]

    assert len(set(constants)) == len(constants)
    assert len({metric.name for metric in instruments.METRICS}) == len(instruments.METRICS)
    assert all(metric.question.endswith("?") for metric in instruments.METRICS)
    assert all(
        label.values or label.of_policy or label.name == names.POLICY_HASH
        for m in instruments.METRICS
        for label in m.labels
    )
