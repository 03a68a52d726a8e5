"""An experiment that nobody can take part in is told of at the start."""

import asyncio
from pathlib import Path

import pytest

from gateway.control.announce import announce
from gateway.settings import Settings, Telemetry
from gateway.wiring import build_gateway

POLICY = """policy: 1
models: {m: {at: "http://a/v1"}}
routes: [{name: default, use: m}]
experiments: [{name: e, unit: UNIT, variants: {control: {weight: 1}, same: {weight: 1}}}]
"""


@pytest.mark.parametrize(
    ("unit", "keys", "warned"), [("api_key", False, True), ("api_key", True, False), ("user", False, False)]
)
async def test_experiments_by_key_want_keys(unit: str, keys: bool, warned: bool, tmp_path: Path) -> None:
    policy, known = tmp_path / "policy.yaml", tmp_path / "keys.json"
    policy.write_text(POLICY.replace("UNIT", unit))
    known.write_text("[]")
    chosen = {"keys_file": known} if keys else {}
    gateway = build_gateway(Settings(policy=policy, telemetry=Telemetry(log="off"), **chosen)).gateway
    heard: list[str] = []

    await asyncio.wait_for(announce(gateway, lambda: "http://127.0.0.1:1", heard.append), 5)

    assert any("experiment e goes by api_key" in line for line in heard) is warned
