"""A rollout that is compared by its shadow first, over sockets: nobody has the change before it is known to answer as well."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from servers.running_gateway import RunningGateway, running_gateway
from typer.testing import CliRunner
from upstreams.fake_upstream import Received, Reply, chat_either, fake_upstream, json_reply

from gateway.cli import app
from gateway.experiments.bench import Pair
from gateway.experiments.chapter import Chapter
from gateway.experiments.shelf import Order
from gateway.experiments.telling import told_rollout
from gateway.settings import Experiments

ANSWER = chat_either("fine")
BROKEN = json_reply({"error": {"message": "broken", "type": "server_error"}}, 500)


def policy_text(base: str, pairs: int, change: str = "{models.m.serves: second}") -> str:
    return f"""
policy: 1
models:
  m: {{at: '{base}/v1', serves: first, price: {{input: $1/M, output: $1/M}}}}
  small: {{at: '{base}/v1', serves: small}}
routes:
  - {{name: default, use: m}}
resilience: {{attempts: 1}}
guardrails:
  errors: {{metric: error_rate, worse_by: 1pp}}
  slow: {{metric: ttft.p95, worse_by: 900%}}
rollouts:
  - name: next
    unit: request
    change: {change}
    steps: [{{shadow: 100%, until: {{pairs: {pairs}}}}}, {{traffic: 50%, for: 1h}}]
    watch: [errors, slow]
"""


@asynccontextmanager
async def asked(
    folder: Path, reply: Callable[[Received], Reply] = ANSWER, pairs: int = 6, **how: Any
) -> AsyncIterator[tuple[RunningGateway, Callable[[], Any], list[Received]]]:
    async with fake_upstream(reply) as server:
        chosen = {"experiments": Experiments(dir=folder / "kept")}
        async with (
            running_gateway(policy_text(server.base, pairs, **how), folder, **chosen) as gateway,
            httpx.AsyncClient(base_url=gateway.base, timeout=20) as client,
        ):

            async def one() -> httpx.Response:
                body = {"model": "auto", "messages": [{"role": "user", "content": "hi"}]}
                answer = await client.post("/v1/chat/completions", json=body)
                await gateway.until(lambda found: not found.shadows.busy and not found.experiments.waiting)
                return answer

            yield gateway, one, server.received


def chapter(gateway: RunningGateway) -> Chapter:
    return gateway.gateway.experiments.chapters["next"]


def served(received: list[Received]) -> list[str]:
    return [got.json["model"] for got in received]


async def test_nobody_has_the_change_before_its_pairs_are_compared_and_then_it_gets_its_share(tmp_path: Path) -> None:
    async with asked(tmp_path) as (gateway, one, received):
        for number in range(6):
            answer = await one()
            assert (answer.status_code, answer.headers.get("x-turnout-experiment", "")) == (200, "")
            assert served(received) == ["first", "second"] * (number + 1)
        found = chapter(gateway)
        assert found.trial.pairs == 6
        assert found.trial.requests == {}
        errors = found.trial.paired["canary/errors"]
        assert (errors.count, errors.treat, errors.control) == (6, 0.0, 0.0)
        assert found.trial.paired["canary/slow"].count == 6
        await gateway.until(lambda _: chapter(gateway).standing.step == 1)
        variants = [(await one()).headers.get("x-turnout-experiment") for _ in range(20)]

    assert {"next=canary", "next=control"} <= set(variants)
    shown = CliRunner().invoke(app, ["rollout", "status", "--dir", str(tmp_path / "kept")])
    assert shown.exit_code == 0, shown.output
    assert "asked by the change as well" in shown.output
    assert "ttft.p95" in shown.output
    assert received[1].header("x-turnout-shadow") == "true"
    told = told_rollout(chapter(gateway), 0.0)
    assert (told.share, told.asks, told.pairs) == (0.5, 0.0, 6)
    assert {finding.guardrail for finding in told.compared} == {"errors", "slow"}
    shadows = gateway.gateway.shadows
    assert shadows is not None
    assert shadows.chapters["rollout next"].evidence["exact"].shadow == {0: 6}


async def test_a_change_that_fails_is_held_before_anybody_has_it_and_goes_on_when_a_person_says_so(
    tmp_path: Path,
) -> None:
    broken = [True]

    def reply(got: Received) -> Reply:
        return BROKEN if got.json["model"] == "second" and broken[0] else ANSWER(got)

    async with asked(tmp_path, reply, pairs=60) as (gateway, one, received):
        for _ in range(59):
            assert (await one()).status_code == 200
            if chapter(gateway).trial.paired and chapter(gateway).trial.paired["canary/errors"].peak > 4.7:
                break
        await gateway.until(lambda _: chapter(gateway).standing.state == "held")
        held = chapter(gateway)
        asked_before = len(received)
        await one()
        assert len(received) == asked_before + 1
        broken[0] = False
        after = await gateway.gateway.experiments.obey("next", Order("resume", "", 1.0))
        assert after is not None
        await one()

    assert "the shadow of canary breaks the guardrail errors: 100% against 0%" in held.standing.why
    assert held.trial.pairs < 30
    assert (after.standing.state, after.standing.round, after.trial.pairs) == ("running", 1, 0)
    assert chapter(gateway).trial.pairs == 1


async def test_an_error_of_the_primary_counts_beside_one_of_the_change(tmp_path: Path) -> None:
    async with asked(tmp_path, lambda _: BROKEN) as (gateway, one, _):
        assert (await one()).status_code >= 500
        found = chapter(gateway).trial.paired["canary/errors"]

    assert (found.count, found.treat, found.control) == (1, 1.0, 1.0)


async def test_a_request_that_the_change_does_not_touch_is_not_asked_again(tmp_path: Path) -> None:
    async with asked(tmp_path, change="{models.small.serves: second}") as (gateway, one, received):
        await one()
        shadows = gateway.gateway.shadows

    assert served(received) == ["first"]
    assert shadows is not None
    assert shadows.chapters["rollout next"].results == {"unchanged": 1}
    assert chapter(gateway).trial.pairs == 0


async def test_a_change_by_which_another_model_answers_is_asked_of_that_one(tmp_path: Path) -> None:
    async with asked(tmp_path, change="{routes.default.use: small}") as (_, one, received):
        await one()

    assert served(received) == ["first", "small"]


@pytest.mark.parametrize("ends", ["round", "step"])
async def test_a_pair_that_comes_too_late_is_nobodys(tmp_path: Path, ends: str) -> None:
    """Drawn before a person took the rollout back and resumed it, or before it climbed."""
    async with asked(tmp_path, pairs=1 if ends == "step" else 9) as (gateway, one, _):
        experiments = gateway.gateway.experiments
        await one()
        before = chapter(gateway)
        if ends == "step":
            await gateway.until(lambda _: chapter(gateway).standing.step == 1)
        else:
            for at, action in enumerate(("abort", "resume"), start=1):
                await experiments.obey("next", Order(action, "", float(at)))
        experiments.compared(Pair("next", 0, {"error": 1.0}, {"error": 0.0}))
        await gateway.until(lambda _: not experiments.waiting)

    assert before.trial.pairs == 1
    assert chapter(gateway).trial.pairs == (1 if ends == "step" else 0)
