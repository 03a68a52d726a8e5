"""What a person hears at the start, and what /readyz knows of the same."""

import asyncio
from pathlib import Path

from gateway.control.announce import announce
from gateway.control.health import health_of
from gateway.settings import Experiments, Settings, Telemetry
from gateway.wiring import build_gateway

LACKING = """
policy: 1
models:
  large: {at: ['http://a/v1', 'http://b/v1'], key: 'env:KEY_THAT_IS_NOT_SET'}
  small: {at: 'http://c/v1'}
routes: [{use: small, fallback: [large]}]
"""
WARNING = "warning: model large: the key env:KEY_THAT_IS_NOT_SET is not set"


async def test_a_key_that_is_not_set_is_said_once_and_shown(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(LACKING)
    gateway = build_gateway(Settings(policy=policy, telemetry=Telemetry(log="off"))).gateway
    heard: list[str] = []

    await asyncio.wait_for(announce(gateway, lambda: "http://127.0.0.1:1", heard.append), 5)

    health = health_of(gateway)
    assert heard[0] == WARNING
    assert heard[1].startswith("ready: http://127.0.0.1:1")
    assert len(heard) == 2
    assert health.ready
    assert [replica.why_not for replica in health.models["large"]] == ["the key env:KEY_THAT_IS_NOT_SET is not set"] * 2


async def test_a_process_that_is_told_to_stop_says_nothing_of_being_ready(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(LACKING)
    gateway = build_gateway(Settings(policy=policy, telemetry=Telemetry(log="off"))).gateway
    heard: list[str] = []
    async with asyncio.timeout(5), asyncio.TaskGroup() as tasks:
        telling = tasks.create_task(announce(gateway, lambda: None, heard.append))
        await asyncio.sleep(0)
        assert not telling.done()
        gateway.door.drain()

    assert heard == [WARNING]


ROLLOUT = """
guardrails: {errors: {metric: error_rate, worse_by: 1pp}}
rollouts:
  - {name: next, change: {models.small.serves: second}, steps: [{traffic: 5%, for: 1h}], watch: [errors]}
"""


async def test_a_rollout_that_would_forget_how_it_stands_is_told_of(tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text(LACKING + ROLLOUT)
    quiet = Telemetry(log="off")
    forgets = build_gateway(Settings(policy=policy, telemetry=quiet)).gateway
    remembers = build_gateway(
        Settings(policy=policy, telemetry=quiet, experiments=Experiments(dir=tmp_path / "kept"))
    ).gateway
    heard: list[list[str]] = []
    for gateway in (forgets, remembers):
        heard.append([])
        await asyncio.wait_for(announce(gateway, lambda: "http://127.0.0.1:1", heard[-1].append), 5)

    assert [any("rollout next begins again" in line for line in lines) for lines in heard] == [True, False]
