"""What is built from settings and a policy, and what is refused before a socket is opened."""

from pathlib import Path
from typing import Any

import pytest

from gateway.control.reload import PolicyRefused
from gateway.extras import needs
from gateway.live.build import LiveBuilder
from gateway.settings import BadSettings, Settings, Telemetry
from gateway.wiring import build_gateway

GOOD = "policy: 1\nmodels: {m: {at: 'http://a/v1'}, n: {at: ['http://b/v1', 'http://c/v1']}}\nroutes: [{use: m}]\n"
QUIET = Telemetry(log="off")


def settings(folder: Path, text: str = GOOD, **more: Any) -> Settings:
    path = folder / "policy.yaml"
    path.write_text(text)
    return Settings(**{"policy": path, "telemetry": QUIET, "cache_dir": folder, **more})


async def test_remote_replicas_stand_at_once(tmp_path: Path) -> None:
    live = build_gateway(settings(tmp_path)).gateway.live

    assert {(replica.model, replica.name) for replica in live} == {
        ("m", "http://a/v1"),
        ("n", "http://b/v1"),
        ("n", "http://c/v1"),
    }
    assert all(replica.load().ready for replica in live)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        (
            "policy: 1\nmodels: {m: {at: 'http://a/v1', fallbck: x}}\nroutes: [{use: m}]\n",
            r"policy.yaml:2:\d+ .*fallbck",
        ),
        ("policy: 1\nmodels: {m: {at: 'http://a/v1'}}\nroutes: [{use: mm}]\n", r"policy.yaml:3:\d+ "),
    ],
)
def test_a_bad_policy_is_refused_with_its_line(policy: str, told: str, tmp_path: Path) -> None:
    with pytest.raises(PolicyRefused, match=told):
        build_gateway(settings(tmp_path, policy))


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"policy": None}, "TURNOUT_POLICY"),
        ({"policy": Path("no/such/file.yaml")}, "no/such/file.yaml"),
        ({"host": "0.0.0.0"}, "TURNOUT_KEYS_FILE"),
        ({"keys_file": Path("no/such/keys.json")}, "no/such/keys.json"),
        ({"telemetry": Telemetry(log="off", traces="otlp")}, "telemetry"),
    ],
)
def test_settings_that_cannot_work_are_refused_in_words(more: dict[str, Any], told: str, tmp_path: Path) -> None:
    with pytest.raises(BadSettings, match=told):
        build_gateway(settings(tmp_path, **more))


def test_weights_that_are_not_here_name_the_line_that_fetches_them(tmp_path: Path) -> None:
    policy = "policy: 1\nmodels: {m: {run: {weights: org/none-such}}}\nroutes: [{use: m}]\n"

    with pytest.raises(BadSettings, match="turnout models pull org/none-such"):
        build_gateway(settings(tmp_path, policy))


def test_a_missing_extra_names_the_line_that_installs_it() -> None:
    with pytest.raises(BadSettings) as told, needs("engine", "the model m runs in this process"):
        raise ModuleNotFoundError("x", name="torch")

    error = told.value

    assert "pip install -e '.[engine]'" in str(error)
    assert "torch" in str(error)


async def test_a_changed_key_makes_a_new_replica_and_an_unchanged_one_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = GOOD.replace("{m: {at: 'http://a/v1'}", "{m: {at: 'http://a/v1', key: 'env:KEY_A'}")
    builder = LiveBuilder(settings(tmp_path, policy))
    without = builder.built(policy, None)
    monkeypatch.setenv("KEY_A", "k")

    with_key = builder.built(policy, without)

    assert "env:KEY_A" in without.replicas["m"][0].load().why_not
    assert with_key.replicas["m"][0].load().ready
    assert with_key.replicas["n"] == without.replicas["n"]
    await builder.aclose()


@pytest.mark.parametrize("state", ["redis://127.0.0.1:1/0", "rediss://h:1/0"])
async def test_building_touches_no_network(state: str, tmp_path: Path) -> None:
    build_gateway(settings(tmp_path, state=state))


async def test_a_replica_that_will_not_be_ready_by_waiting_is_made_anew_when_the_policy_is_read_again(
    tmp_path: Path,
) -> None:
    policy = "policy: 1\nmodels: {a: {at: 'http://a/v1'}, b: {at: 'http://b/v1'}}\nroutes: [{use: a}]\n"
    builder = LiveBuilder(settings(tmp_path, policy))
    before = builder.built(policy, None)
    [failed], [sound] = before.replicas.values()
    failed.upstream, failed.did_not_open = None, True

    after = builder.built(policy, before)

    assert after.replicas["b"] == (sound,)
    assert after.replicas["a"] != (failed,)
    assert after.replicas["a"][0].load().ready
    await builder.aclose()
