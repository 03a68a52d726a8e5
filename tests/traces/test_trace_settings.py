"""What an operator sets of traces, as the gateway is wired: who is trusted, who is told, what is kept."""

from pathlib import Path
from typing import Any

import pytest
from servers.collector import Collector, collector
from traces.scenarios import BROKEN, OK, ONE, TRIED
from traces.span_text import Seen, seen_over_otlp, traces_of
from traces.traced_world import CALLER, TRACE_ID, Scenario, Traced, traced
from upstreams.fake_upstream import Pause, chat_either, sse_reply, text_chunk

from gateway.settings import Settings, Telemetry
from gateway.telemetry import names


async def asked(scenario: Scenario, folder: Path, **told: Any) -> Traced:
    async with traced(scenario, folder, telemetry=Telemetry(**{"log": "off", **told})) as world:
        await scenario.play(world)
    return world


async def kept(scenario: Scenario, folder: Path, **told: Any) -> list[list[Seen]]:
    with collector() as there:
        await asked(scenario, folder, traces="otlp", otlp_endpoint=there.url, **told)
    return traces_at(there)


def traces_at(there: Collector) -> list[list[Seen]]:
    return traces_of([seen_over_otlp(span) for span in there.spans])


def test_every_setting_has_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    told = {"SAMPLED": "0.01", "SLOW_S": "2.5", "TRUST_CALLERS": "false", "BAGGAGE_TO": '["models.example"]'}
    for name, value in told.items():
        monkeypatch.setenv(f"TURNOUT_TELEMETRY__{name}", value)

    found = Settings().telemetry

    assert (found.sampled, found.slow_s, found.trust_callers) == (0.01, 2.5, False)
    assert found.baggage_to == ("models.example",)


@pytest.mark.parametrize("traces", ["off", "console"])
@pytest.mark.parametrize("trusts", [True, False])
async def test_a_callers_context_goes_on_where_callers_are_trusted(
    traces: str, trusts: bool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    scenario = Scenario(ONE, lambda world: world.chat(headers=CALLER), OK)

    world = await asked(scenario, tmp_path, traces=traces, trust_callers=trusts)

    sent = world.upstreams[0].last
    assert (TRACE_ID in (sent.header("traceparent") or "")) == trusts
    assert ((sent.header("tracestate") or "") == "vendor=1") == trusts
    assert (sent.header("traceparent") is not None) == (trusts or traces == "console")


@pytest.mark.parametrize(("hosts", "told"), [(("127.0.0.1",), True), (("elsewhere",), False), ((), False)])
async def test_variants_are_told_to_hosts_that_are_named(hosts: tuple[str, ...], told: bool, tmp_path: Path) -> None:
    scenario = Scenario(TRIED, lambda world: world.chat(user="u1", headers={"baggage": "user=u1"}), OK)

    world = await asked(scenario, tmp_path, baggage_to=hosts)

    heard = world.upstreams[0].last.header("baggage")
    assert heard == ("experiment.second=treat" if told else None)


async def test_of_no_share_what_failed_is_kept_whole(tmp_path: Path) -> None:
    async def play(world: Traced) -> None:
        for _ in range(5):
            await world.chat()

    scenario = Scenario(ONE, play, {"A": [chat_either("ok"), chat_either("ok"), BROKEN, chat_either("ok")]})

    (failed,) = await kept(scenario, tmp_path, sampled=0.0)

    assert [span.name for span in failed] == ["POST /v1/chat/completions", "route", "chat m"]
    assert failed[0].attributes[names.KEPT] == "failed"
    assert failed[0].state == "ot=th:0"


async def test_what_is_late_with_its_first_content_is_kept(tmp_path: Path) -> None:
    late = sse_reply(Pause(0.3), text_chunk("a", finish="stop"))

    async def play(world: Traced) -> None:
        await world.chat(stream=True)

    (slow,) = await kept(Scenario(ONE, play, {"A": [late]}), tmp_path, sampled=0.0, slow_s=0.25)

    assert slow[0].attributes[names.KEPT] == "slow"


async def test_a_caller_says_whether_its_trace_is_kept(tmp_path: Path) -> None:
    async def play(world: Traced) -> None:
        await world.chat(headers=CALLER)
        await world.chat(headers={"traceparent": CALLER["traceparent"][:-2] + "00"})

    (one,) = await kept(Scenario(ONE, play, OK), tmp_path, sampled=1.0)

    assert one[0].attributes[names.KEPT] == "caller"
