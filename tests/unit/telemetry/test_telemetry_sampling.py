"""What is kept: always what tells an operator something, of the rest a share that counts back to the whole."""

import random

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.trace import TraceState
from telemetry_world import LARGE, SMALL, USAGE, decision, facts, open_world, settlement

from gateway.telemetry import names
from gateway.telemetry.traces.context import MOST_MEMBERS, fields_of, with_threshold
from gateway.telemetry.traces.sampling import EVERY, FIRST_OF_VARIANT, MOST_VARIANTS, Sampling, threshold_of, written
from gateway.telemetry.traces.tracing import MOST_ATTEMPTS
from policies.experiments.plan import Assignment

PLAIN = {"attempts": 1, "ttft_ms": 20.0, "decision": decision(SMALL), "answered_by": SMALL}


def why(sampling=None, ends=("",), *, taken=False, called=False, **changes):
    given_ = sampling or Sampling(0.0, slow_s=10.0)
    return given_.why_kept(settlement("r", **{**PLAIN, **changes}), ends, taken=taken, called=called)


def tried(*variants, unit="u"):
    assignments = tuple(Assignment("e", variant, unit, 0.5) for variant in variants)
    return msgspec.structs.replace(decision(SMALL), assignments=assignments)


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({}, None),
        ({"taken": True}, "share"),
        ({"taken": True, "called": True}, "caller"),
        ({"called": True}, None),
        ({"status": 502, "end": "error"}, "failed"),
        ({"end": "error"}, "failed"),
        ({"end": "error", "ttft_ms": None, "ends": ("cancelled",)}, "failed"),
        ({"ends": ("connect_failed", "")}, "failed"),
        ({"ends": ("rejected", "")}, "failed"),
        ({"status": 400, "end": "error", "ttft_ms": None, "ends": ("rejected",)}, None),
        ({"status": 401, "end": "rejected", "ttft_ms": None, "ends": ()}, None),
        ({"status": 499, "end": "cancelled", "ttft_ms": None, "ends": ("cancelled",)}, None),
        ({"judgement": "escalated"}, "escalated"),
        ({"judgement": "turned_back"}, "escalated"),
        ({"judgement": "kept"}, None),
        ({"ttft_ms": 10_001.0}, "slow"),
        ({"ttft_ms": None, "duration_ms": 10_001.0}, "slow"),
        ({"ttft_ms": 5.0, "duration_ms": 600_000.0}, None),
        ({"decision": msgspec.structs.replace(decision(SMALL), instead_of="large")}, "explored"),
        ({"decision": tried("new")}, "variant"),
        ({"decision": tried("new", unit="")}, None),
    ],
    ids=str,
)
def test_a_trace_is_kept_for_a_reason(changes, reason):
    assert why(**changes) == reason


def test_of_each_variant_the_first_requests_are_kept_and_many_variants_are_not_remembered():
    sampling = Sampling(0.0, slow_s=10.0)
    kept = [why(sampling, decision=tried("a")) for _ in range(FIRST_OF_VARIANT + 5)]
    for n in range(2 * MOST_VARIANTS):
        why(sampling, decision=tried(f"v{n}"))

    assert kept == ["variant"] * FIRST_OF_VARIANT + [None] * 5
    assert why(sampling, decision=tried("a", "v0")) == "variant"
    assert why(sampling, decision=tried("one too many")) is None
    assert len(sampling._seen) == MOST_VARIANTS


@given(st.floats(0.0, 1.0), st.integers(0, EVERY - 1))
def test_the_written_threshold_says_by_which_a_trace_was_taken(share, low_bits):
    sampling = Sampling(share, slow_s=1.0)
    threshold = threshold_of(share)
    trace_id = (random.Random(low_bits).getrandbits(72) << 56) | low_bits

    assert sampling.takes(trace_id) == (low_bits >= threshold)
    if threshold < EVERY:
        assert int(written(threshold).ljust(14, "0"), 16) == threshold


@given(st.floats(0.001, 1.0), st.floats(0.001, 1.0), st.integers(0, EVERY - 1))
def test_a_larger_share_takes_what_a_smaller_one_took(one, other, trace_id):
    small, large = sorted((one, other))

    assert not Sampling(small, 1.0).takes(trace_id) or Sampling(large, 1.0).takes(trace_id)


async def test_what_is_kept_counts_back_to_all_that_came():
    world, came = open_world(share=0.1), 4_000
    for n in range(came):
        request = world.begin()
        failed = n % 100 == 0
        request.settle(settlement(request.request_id, status=502 if failed else 200, end="error" if failed else "stop"))

    spans = await world.over()

    counts = [adjusted(span.context.trace_state) for span in spans]
    failures = [count for span, count in zip(spans, counts, strict=True) if span.status.status_code.name == "ERROR"]
    assert failures == [1.0] * 40
    assert abs(sum(counts) - came) < 5 * (0.9 * came / 0.1) ** 0.5, "five standard deviations"


def adjusted(state):
    """OpenTelemetry, TraceState: Probability Sampling: adjusted count = 1 / (1 - T)."""
    return 1 / (1 - int(fields_of(state)["th"].ljust(14, "0"), 16) / EVERY)


@given(st.lists(st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True), unique=True, max_size=MOST_MEMBERS))
def test_the_threshold_joins_what_a_caller_has_in_its_state(members):
    state = TraceState([("ot", "rv:0123456789abcd"), *[(name, "x") for name in members if name != "ot"]][:MOST_MEMBERS])

    found = with_threshold(state, "c")

    assert fields_of(found) == {"rv": "0123456789abcd", "th": "c"}
    assert next(iter(found)) == "ot"
    assert len(found) <= MOST_MEMBERS
    assert set(found) <= {*state, "ot"}


async def test_a_request_that_is_not_taken_tells_its_upstream_so_and_is_kept_whole_when_it_fails():
    world = open_world(share=0.0)
    request = world.begin()
    request.decided(facts(), decision(SMALL, LARGE), None)
    first = request.attempt(SMALL, 1)
    told = dict(first.headers)
    first.end("connect_failed", None)
    request.attempt(LARGE, 2).end("", USAGE)
    request.settle(settlement(request.request_id, attempts=2))

    spans = await world.over()

    assert told["traceparent"].endswith("-00")
    assert "tracestate" not in told
    assert [span.name for span in spans] == ["POST /v1/chat/completions", "route", "chat small", "chat large"]
    assert spans[0].attributes[names.KEPT] == "failed"


async def test_a_request_that_is_not_kept_leaves_nothing_but_its_line_and_its_counts():
    world = open_world(share=0.0)
    request = world.begin()
    request.settle(settlement(request.request_id))

    assert await world.over() == ()
    assert world.metric("http_server_active_requests") == 0
    assert len(world.lines.getvalue().splitlines()) == 1


async def test_a_request_with_very_many_attempts_has_so_many_spans_and_no_more(world):
    request = world.begin()
    for number in range(1, 500):
        attempt = request.attempt(SMALL, number)
        assert attempt.headers["traceparent"]
        attempt.end("connect_failed", None)
    request.settle(settlement(request.request_id, attempts=499))

    spans = await world.over()

    assert len(spans) == 1 + MOST_ATTEMPTS
    assert spans[0].attributes[names.ATTEMPTS] == 499
