"""Weights that cannot be opened: the others answer, the reason is said, and nobody waits for what will never come."""

import asyncio
import json
from pathlib import Path

import pytest
from servers.running_gateway import running_gateway

from gateway.control.announce import announce
from gateway.control.health import health_of
from gateway.serve import serve
from gateway.settings import Settings, Telemetry

BROKEN = {
    "an architecture that nobody knows": ({"architectures": ["OtherForCausalLM"]}, "OtherForCausalLM"),
    "a file that is none": ({"architectures": ["LlamaForCausalLM"]}, "model.safetensors"),
}


def weights(folder: Path, config: dict[str, object]) -> Path:
    """A directory that looks like weights from outside."""
    path = folder / "weights"
    path.mkdir()
    (path / "config.json").write_text(json.dumps(config))
    (path / "model.safetensors").write_bytes(b"these are no weights")
    return path


def policy(weights: Path, *, other: str = "") -> str:
    return f"policy: 1\nmodels: {{broken: {{run: {{weights: '{weights}'}}}}{other}}}\nroutes: [{{use: broken}}]\n"


@pytest.mark.parametrize(("config", "why"), BROKEN.values(), ids=BROKEN)
def test_a_gateway_that_can_never_answer_says_why_and_ends_with_code_1(
    config: dict[str, object], why: str, tmp_path: Path
) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(policy(weights(tmp_path, config)))
    heard: list[str] = []

    with pytest.raises(SystemExit) as ended:
        serve(Settings(policy=file, port=0, telemetry=Telemetry(log="off")), heard.append)

    assert ended.value.code == 1
    assert why in heard[-1]
    assert "broken" in heard[-1]
    assert not any(line.startswith("ready") for line in heard)


@pytest.mark.parametrize(("config", "why"), BROKEN.values(), ids=BROKEN)
async def test_one_model_that_does_not_open_keeps_nobody_else_from_being_ready(
    config: dict[str, object], why: str, tmp_path: Path
) -> None:
    text = policy(weights(tmp_path, config), other=", other: {at: 'http://a/v1'}")
    heard: list[str] = []
    async with running_gateway(text, tmp_path) as gateway:
        await gateway.until(lambda built: any(replica.failed for replica in built.live))
        await asyncio.wait_for(announce(gateway.gateway, lambda: gateway.base, heard.append), 5)
        health = health_of(gateway.gateway)

    assert health.ready
    assert why in health.models["broken"][0].why_not
    assert heard[0].startswith("warning: model broken did not open:")
    assert why in heard[0]
    assert heard[1].startswith("ready:")
