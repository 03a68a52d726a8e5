"""Replicas that are found: names become addresses, who leaves ends its work, and a blink of a name server empties nothing."""

import json
import socket
from collections.abc import Iterable
from typing import Any

import pytest

from gateway.live.found import MISSES_TO_EMPTY, Finding, Seekers, resolved
from gateway.live.in_force import LINGER_S, Live
from gateway.live.replicas import Claim, Replica
from policies.catalogue import Model
from policies.decision import Call
from policies.language.load import load_policy
from policies.policy import Policy


class Names:
    """A name server that says what it is told to."""

    def __init__(self, *hosts: str) -> None:
        self.hosts: tuple[str, ...] | OSError = hosts
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Iterable[str]:
        self.asked.append((host, port))
        if isinstance(self.hosts, OSError):
            raise self.hosts
        return self.hosts


class Upstream:
    """Ready, idle, and closed once."""

    closed = 0

    async def aclose(self) -> None:
        self.closed += 1


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def no_classifier(artefact: str) -> Any:
    pytest.fail(f"no classifier is needed, least of all {artefact}")


def policy(**model: object) -> Policy:
    text = json.dumps({"policy": 1, "models": {"m": model}, "routes": [{"use": "m"}]})
    loaded = load_policy(text, name="p", calibrate=no_classifier)
    assert loaded.policy is not None, loaded.problems
    return loaded.policy


def in_force(clock: Clock) -> Live:
    return Live(policy(at="http://pods.example:8000/v1", replicas="dns"), {"m": ()})


def builder(clock: Clock):
    def build(model: Model, at: str) -> Replica:
        return Replica(model.name, at, at, upstream=Upstream(), is_found=True, clock=clock)  # type: ignore[arg-type]

    return build


async def looks(live: Live, names: Names, clock: Clock, times: int = 1) -> None:
    finding = Finding(lambda: live, Seekers(None, names).seek, builder(clock))
    for _ in range(times):
        await finding.look()


def names_of(live: Live) -> list[str]:
    return [replica.name for replica in live.replicas["m"]]


async def test_every_address_behind_a_name_is_a_replica():
    live, names = in_force(Clock()), Names("10.0.0.2", "10.0.0.1", "fd00::1")

    await looks(live, names, Clock())

    assert names_of(live) == ["http://10.0.0.1:8000/v1", "http://10.0.0.2:8000/v1", "http://[fd00::1]:8000/v1"]
    assert names.asked == [("pods.example", 8000)]


async def test_who_stays_is_the_same_replica_and_who_leaves_ends_its_work():
    clock = Clock()
    live, names = in_force(clock), Names("10.0.0.1", "10.0.0.2")
    await looks(live, names, clock)
    stays, leaves = live.replicas["m"]
    claim = Claim(leaves, 100)

    names.hosts = ("10.0.0.1", "10.0.0.3")
    await looks(live, names, clock)

    assert names_of(live) == ["http://10.0.0.1:8000/v1", "http://10.0.0.3:8000/v1"]
    assert live.replicas["m"][0] is stays
    assert live.replica(Call("m", leaves.name)) is leaves, "an earlier decision may still name it"
    claim.release()
    assert leaves.upstream is not None

    clock.now += live.policy.resilience.total_s + LINGER_S + 1
    await live.let_departed_go()
    assert leaves.upstream is None


async def test_who_is_back_soon_is_the_same_replica_with_the_work_that_it_has():
    """A name server that gives some of the addresses each time takes no count and no trust away."""
    clock = Clock()
    live, names = in_force(clock), Names("10.0.0.1", "10.0.0.2")
    await looks(live, names, clock)
    first, second = live.replicas["m"]
    claim = Claim(second, 100)

    for _ in range(5):
        for hosts in (("10.0.0.1",), ("10.0.0.2",), ("10.0.0.1", "10.0.0.2")):
            names.hosts = hosts
            clock.now += 1.0
            await looks(live, names, clock)

    assert live.replicas["m"] == (first, second)
    assert second.running == 1
    assert (first.lives, second.lives) == (1, 1)
    claim.release()
    clock.now += live.policy.resilience.total_s + LINGER_S + 1
    await looks(live, names, clock)
    await live.retire()
    assert [replica.upstream for replica in (first, second)] == [None, None], "each is closed, once"


async def test_who_is_back_when_it_was_closed_is_a_new_one():
    clock = Clock()
    live, names = in_force(clock), Names("10.0.0.1", "10.0.0.2")
    await looks(live, names, clock)
    _, gone = live.replicas["m"]

    names.hosts = ("10.0.0.1",)
    await looks(live, names, clock)
    clock.now += live.policy.resilience.total_s + LINGER_S + 1
    await looks(live, names, clock)
    names.hosts = ("10.0.0.1", "10.0.0.2")
    await looks(live, names, clock)

    assert gone.upstream is None
    assert live.replicas["m"][1] is not gone
    assert live.replicas["m"][1].lives == 1


async def test_a_name_server_that_is_away_changes_nothing():
    live, names = in_force(Clock()), Names("10.0.0.1")
    await looks(live, names, Clock())

    names.hosts = socket.gaierror(socket.EAI_AGAIN, "try again")
    await looks(live, names, Clock(), times=2 * MISSES_TO_EMPTY)

    assert names_of(live) == ["http://10.0.0.1:8000/v1"]


async def test_a_name_behind_which_nobody_is_left_empties_the_model_after_a_while():
    live, names = in_force(Clock()), Names("10.0.0.1")
    clock = Clock()
    await looks(live, names, clock)
    names.hosts = ()
    finding = Finding(lambda: live, Seekers(None, names).seek, builder(clock))

    for _ in range(MISSES_TO_EMPTY - 1):
        await finding.look()
    assert names_of(live) == ["http://10.0.0.1:8000/v1"]

    await finding.look()
    assert names_of(live) == []


async def test_a_policy_that_ends_closes_those_that_departed_as_well():
    live, names = in_force(Clock()), Names("10.0.0.1")
    await looks(live, names, Clock())
    [first] = live.replicas["m"]
    names.hosts = ("10.0.0.2",)
    await looks(live, names, Clock())

    await live.retire()

    assert first.upstream is None
    assert all(replica.upstream is None for replica in live)


async def test_this_machine_has_an_address_and_nothing_is_behind_a_name_that_cannot_be():
    assert "127.0.0.1" in await resolved("localhost", 80)
    assert list(await resolved("no-such-name.invalid", 80)) == []


class Announced:
    def __init__(self, *addresses: str) -> None:
        self.addresses = addresses

    async def find(self, model: str) -> frozenset[str]:
        assert model == "served-name"
        return frozenset(self.addresses)


async def test_what_is_announced_and_no_address_is_passed_over():
    live = Live(policy(replicas="announced", serves="served-name"), {"m": ()})
    registry = Announced(
        "http://a:1/v1", "garbage", "ftp://a/v1", "http://user:word@a/v1", "http://a:x/v1", "http://" + "a" * 400
    )

    await Finding(lambda: live, Seekers(registry).seek, builder(Clock())).look()

    assert names_of(live) == ["http://a:1/v1"]


def test_who_is_like_a_model_that_is_found_and_runs_here_takes_nothing_of_its_place():
    models = {
        "there": {"replicas": "announced", "price": {"input": "$1/M", "output": "$2/M"}},
        "here": {"like": "there", "run": {"weights": "w"}},
    }
    text = json.dumps({"policy": 1, "models": models, "routes": [{"use": "here"}]})

    loaded = load_policy(text, name="p", calibrate=no_classifier)

    assert loaded.policy is not None, loaded.problems
    here = loaded.policy.models["here"]
    assert (here.found_by, here.worker, here.price.output) == ("", False, 2_000_000)


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ({"at": "https://pods/v1", "replicas": "dns"}, "needs http://"),
        ({"replicas": "dns"}, "needs exactly one of at and run"),
        ({"at": "http://a/v1", "replicas": "announced"}, "its replicas announce themselves"),
        ({"run": {"weights": "w"}, "replicas": "announced"}, "is where it is"),
        ({"at": "http://a/v1", "worker": True, "watch": "vllm"}, "our own engine tells by itself"),
    ],
)
def test_what_cannot_be_is_told_when_the_policy_is_read(model: dict[str, object], problem: str):
    loaded = load_policy(
        json.dumps({"policy": 1, "models": {"m": model}, "routes": [{"use": "m"}]}), name="p", calibrate=no_classifier
    )

    assert loaded.policy is None
    assert any(problem in told.render() for told in loaded.problems)
