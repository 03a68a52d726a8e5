"""A target through the real app: chat requests move the line, nothing else does, and everybody can see where it is."""

import random
import re
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
from servers.running_gateway import QUIET, RunningGateway, serving
from upstreams.fake_upstream import Received, Reply, chat_either, fake_upstream

from backends.remote import RemoteUpstream
from backends.transport import FastTransport
from classifiers.question import Question
from gateway.control.lines import Lines
from gateway.control.reload import PolicyRefused, Reloader
from gateway.control.upkeep import Upkeep
from gateway.house import Gateway
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.door import Door
from gateway.request.identity import Identity
from gateway.request.snapshot import World
from gateway.settings import Settings
from gateway.state.memory import MemoryResidency
from gateway.telemetry.opening import build_observer
from gateway.wiring import Built
from policies.estimates import Calibration, Estimate, Unsettled
from policies.language.load import load_policy
from policies.policy import Policy
from policies.steering.steer import EVERY

EASY = Calibration(p_good={"small": tuple(0.5 + i / 220 for i in range(100)), "large": (0.97,) * 100}, artefact="cafe")


class Reads:
    """The chance of the small model is what the prompt says; the large one nearly always knows."""

    async def begin(self, question: Question, within_s: float, unsettled: Unsettled | None = None) -> Estimate:
        return Estimate(p_good={"small": float(question.turns[-1]), "large": 0.97}, artefact="cafe")


def rules(at: str, adapt: str, escalates: bool) -> Policy:
    """Where it escalates, three in ten of all requests may."""
    up = "escalations: {careful: {to: large, when: {p_correct: {under: 50%}}, at_most: 30% of requests, moves: answer}}"
    text = f"""
policy: 1
models: {{small: {{at: '{at}/s'}}, large: {{at: '{at}/l'}}}}
routes:
  - name: default
    choose: {{by: difficulty, among: [small, large], target: {{cost: 40% of large}}, adapt: {adapt}}}
{"    escalate: careful" if escalates else ""}
{up if escalates else ""}
"""
    found = load_policy(text, name="p.yaml", calibrate=lambda _: EASY)
    assert found.policy is not None, [problem.render() for problem in found.problems]
    return found.policy


@asynccontextmanager
async def gateway_of(
    folder: Path, adapt: str = "on", escalates: bool = False
) -> AsyncIterator[tuple[RunningGateway, httpx.AsyncClient]]:
    async with fake_upstream(answers) as upstream:
        policy, transport = rules(upstream.base, adapt, escalates), FastTransport()
        replicas = {
            name: tuple(
                Replica(name, at, at, upstream=RemoteUpstream(model=name, at=at, transport=transport))
                for at in model.at
            )
            for name, model in policy.models.items()
        }
        file = folder / "policy.yaml"
        file.write_text("")
        settings = Settings(policy=file, port=0, telemetry=QUIET)
        gateway = Gateway(
            settings=settings,
            live=Live(policy, replicas, Reads()),
            identity=Identity(()),
            door=Door(512),
            world=World(residency=MemoryResidency(10, time.monotonic), now=time.time),
            observer=build_observer(traces="off", log="off"),
            lines=Lines(pause_s=0.0),  # looks come by requests alone, however fast the machine is
        )
        gateway.observer.policy_loaded(policy.hash, ["default"], policy.models)
        reloader = Reloader(gateway, file, refuses, "")
        built = Built(gateway, Upkeep(gateway, reloader, {}, (transport.aclose,)), reloader)
        async with serving(built, settings) as running, httpx.AsyncClient(base_url=running.base, timeout=20) as client:
            yield running, client


def answers(received: Received) -> Reply:
    """The small model declines, whatever it is asked."""
    return chat_either("ok" if received.path.startswith("/l") else "I'm sorry, but I can't help with that.")(received)


async def refuses(text: str, before: Live | None) -> Live:
    raise PolicyRefused("no file here")


async def send(client: httpx.AsyncClient, path: str, count: int, seed: int) -> list[str]:
    """Prompts that are harder than what the target was solved on; who answered."""
    dice, models = random.Random(seed), []
    for _ in range(count):
        words = f"{dice.uniform(0.1, 0.8):.4f}"
        body = {"model": "auto", "messages": [{"role": "user", "content": words}], "max_tokens": 4}
        answer = await client.post(path, json=body)
        assert answer.status_code == 200, answer.text
        models.append(answer.headers.get("x-turnout-model", ""))
    return models


async def line_of(client: httpx.AsyncClient) -> float:
    body = {"model": "auto", "messages": [{"role": "user", "content": "0.5"}]}
    decision = (await client.post("/v1/route", json=body)).json()["decision"]
    assert decision["artefact"] == "cafe"
    return float(decision["line"]["loss"])


async def test_chat_requests_bring_the_share_back_to_its_target_and_the_line_is_told_everywhere(tmp_path: Path) -> None:
    async with gateway_of(tmp_path) as (_, client):
        first = await line_of(client)
        blind = await send(client, "/v1/chat/completions", 100, seed=1)
        await send(client, "/v1/chat/completions", 250, seed=2)
        models = await send(client, "/v1/chat/completions", 250, seed=3)
        line = await line_of(client)
        page = (await client.get("/metrics")).text

    assert line < first
    assert blind.count("large") > 60, "nothing was known of them"
    assert 0.28 <= models.count("large") / len(models) <= 0.42, "what the first ones spent too much is repaid"
    shown = {
        name: float(value) for name, value in re.findall(r'^(router_\w+){router_route="default"} (\S+)$', page, re.M)
    }
    assert shown["router_line"] > 0
    assert shown["router_target_percent"] == 40
    assert 35 <= shown["router_target_realised_percent"] <= 75


async def test_answers_that_are_given_up_are_paid_out_of_the_target(tmp_path: Path) -> None:
    """The small model is free here, so that the share is that of answers by the large one, chosen or escalated to: with what
    the first ones spent too much, three in ten that are escalated leave nothing to choose it for."""
    async with gateway_of(tmp_path, escalates=True) as (_, client):
        first = await line_of(client)
        models = await send(client, "/v1/chat/completions", 400, seed=1)
        line = await line_of(client)

    assert models[:100].count("large") > 60, "nothing was known of them"
    assert models[250:].count("large") / 150 <= 0.42
    assert line < first / 2


async def test_decisions_without_an_answer_are_not_learnt_from(tmp_path: Path) -> None:
    async with gateway_of(tmp_path) as (gateway, client):
        await send(client, "/v1/chat/completions", EVERY - 1, seed=1)
        before = dict(gateway.gateway.lines.waiting)
        await send(client, "/v1/route", 3 * EVERY, seed=2)
        after = dict(gateway.gateway.lines.waiting)

    assert before == after == {"default": EVERY - 1}


async def test_with_adapt_off_the_line_is_the_files_for_ever(tmp_path: Path) -> None:
    async with gateway_of(tmp_path, adapt="off") as (_, client):
        first = await line_of(client)
        models = await send(client, "/v1/chat/completions", 200, seed=1)
        assert await line_of(client) == first

    assert models.count("large") / len(models) > 0.6
