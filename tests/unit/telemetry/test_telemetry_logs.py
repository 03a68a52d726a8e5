"""One line a request: why, who, how much. Never a key, never a second line."""

import io
import json

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from telemetry_world import CANARY, LARGE, SMALL, USAGE, decision, facts, settlement

from gateway.request.settlement import Settlement
from gateway.secrets import Secret
from gateway.telemetry.logs import RequestLog
from gateway.telemetry.redact import LONGEST, Redactor


def test_a_request_leaves_one_line_that_says_why_who_and_how_much(world):
    request = world.begin()
    request.settle(
        settlement(
            request.request_id,
            decision=decision(SMALL),
            reason="small: fallback, large failed (connect_failed)",
            answered_by=SMALL,
            usage=USAGE,
            microusd=21,
            ttft_ms=40,
        )
    )

    (text,) = world.lines.getvalue().splitlines()
    line = json.loads(text)
    assert line["request_id"] == request.request_id
    assert len(line["trace_id"]) == 32
    assert {
        name: line[name] for name in ("event", "outcome", "route", "model", "reason", "microusd", "cached_tokens")
    } == {
        "event": "request",
        "outcome": "ok",
        "route": "chat",
        "model": "small",
        "reason": "small: fallback, large failed (connect_failed)",
        "microusd": 21,
        "cached_tokens": 96,
    }


@pytest.mark.parametrize("form", ["json", "console"])
@given(text=st.text(st.characters(codec="utf-8"), max_size=60))
def test_no_text_forges_a_second_line(form, text):
    out = io.StringIO()

    RequestLog(form, Redactor(), out).write([(settlement("r", tenant=text, error_code=text), "", 0)])

    written = out.getvalue()
    assert written.endswith("\n")
    assert len(written.splitlines()) == 1
    assert "\x1b" not in written


async def test_the_canary_secret_leaves_by_no_door(world):
    leaky = decision(SMALL, reason=f"key {CANARY} was used")
    request = world.begin({"authorization": f"Bearer {CANARY}", "x-api-key": CANARY})
    request.decided(facts().__class__(requested=CANARY, headers={"x-team": CANARY}), leaky, None)
    call = SMALL.__class__("small", f"http://user:{CANARY}@10.0.0.1")
    request.attempt(call, 1).end("rejected", USAGE)
    request.settle(
        settlement(request.request_id, tenant=CANARY, decision=leaky, answered_by=call, error_code=f"x {CANARY}")
    )

    spans = "".join(span.to_json() for span in await world.over())

    for door in (spans, world.lines.getvalue(), world.observer.metrics_page().decode()):
        assert CANARY not in door
    assert "***" in spans


@pytest.mark.parametrize(
    "text",
    [
        "Bearer abcdefghijklmnop",
        "sk-proj-abcdefghijklmnopqrstuvwx",
        "hf_abcdefghijklmnopqrstuvwxyz",
        "https://someone:hunter22@host/",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.abc",
    ],
)
def test_what_looks_like_a_key_is_hidden_though_nobody_named_it(text):
    cleaned = Redactor().clean(f"upstream said: {text}")

    assert "***" in cleaned
    assert text not in cleaned


@given(secret=st.text(st.characters(codec="utf-8", exclude_categories=["Cc"]), min_size=4), around=st.text(max_size=20))
def test_a_known_secret_is_never_in_cleaned_text(secret, around):
    known = Secret(secret)
    if known.reveal() and known.reveal() not in "***":
        assert known.reveal() not in Redactor([known]).clean(f"{around}{known.reveal()}{known.reveal()}").replace(
            "***", ""
        )


def test_ordinary_reasons_are_left_as_they_are():
    reason = "short task: p_good 0.93 >= 0.88, basic model is 12x cheaper; skipped large at http://10.0.0.1:8000/v1"

    assert Redactor([Secret("k-1")]).clean(reason) == reason


def test_a_long_value_is_cut():
    assert len(Redactor().clean("a" * 10_000)) == LONGEST


def test_the_redactor_does_not_tell_its_secrets():
    assert CANARY not in repr(Redactor([Secret(CANARY)]))


def test_a_log_that_nobody_reads_is_counted_and_harms_nothing(world):
    world.lines.close()

    request = world.begin()
    request.settle(settlement(request.request_id))

    assert world.metric("router_telemetry_dropped_total", router_signal="log") == 1


CHANGES = {
    "tenant": "other",
    "dialect": "anthropic",
    "stream": True,
    "answered_by": LARGE,
    "status": 502,
    "end": "error",
    "error_code": "upstream_disconnected",
    "ttft_ms": 40.0,
    "decision": msgspec.structs.replace(decision(SMALL), route="tools", policy_hash="fedcba9876543210", artefact="own"),
}
"""Of a settlement, each to something else."""


def written(*over: Settlement) -> list[str]:
    out = io.StringIO()
    RequestLog("json", Redactor(), out).write([(one, "", 0) for one in over])
    return out.getvalue().splitlines()


@pytest.mark.parametrize("name", CHANGES)
@pytest.mark.parametrize("end", ["stop", "error"])
def test_what_lines_have_in_common_is_never_said_of_one_that_differs(name, end):
    plain = settlement("r", decision=decision(SMALL), answered_by=SMALL, end=end)
    over = plain, msgspec.structs.replace(plain, **{name: CHANGES[name]}), plain
    assert written(*over) == [line for one in over for line in written(one)]
