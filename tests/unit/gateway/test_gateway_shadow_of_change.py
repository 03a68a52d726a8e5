"""Whom a rollout's change would ask is decided on the world as it is by then, not as it was when its estimate was begun."""

import time
from collections.abc import Awaitable

import msgspec

from backends.messages import ChatRequest, Message
from backends.upstream import Load, Prepared, UpstreamCall
from classifiers.question import Question
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.request.snapshot import World
from gateway.shadows.errand import Errand
from gateway.shadows.whom import Asked, Change
from gateway.state.memory import MemoryResidency
from gateway.telemetry.unseen import NullObservation
from policies.decision import Call, Decision
from policies.estimates import Estimate, Unsettled
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import Difficulty
from policies.shadows.plan import Shadow
from policies.shadows.sample import Picked
from policies.snapshot import Snapshot

FILE = """
policy: 1
models: {m: {at: ["http://a", "http://b"], serves: first}}
routes: [{name: r, use: m}]
guardrails: {errors: {metric: error_rate, worse_by: 1pp}}
rollouts:
  - name: next
    unit: request
    change: {models.m.serves: second}
    steps: [{shadow: 100%, until: {pairs: 6}}, {traffic: 50%, for: 1h}]
    watch: [errors]
"""


class Server:
    """An upstream that is only looked at."""

    def __init__(self) -> None:
        self.is_ready = True

    def load(self) -> Load:
        return Load(ready=self.is_ready, why_not="" if self.is_ready else "gone")

    def prepare(self, request: ChatRequest, salt: bytes) -> Prepared:
        raise AssertionError("nobody is asked")

    async def start(self, call: UpstreamCall) -> None:
        raise AssertionError("nobody is asked")

    def resident_tokens(self, prepared: Prepared) -> int | None:
        return None

    async def aclose(self) -> None:
        """Nothing is open."""


class Meanwhile:
    """An estimate that takes its time, in which `server` goes."""

    def __init__(self, server: Server) -> None:
        self._server = server

    def begin(self, question: Question, within_s: float, unsettled: Unsettled | None = None) -> Awaitable[Estimate]:
        async def estimate() -> Estimate:
            self._server.is_ready = False
            return Estimate(abstains="none")

        return estimate()

    def numbers(self, question: Question) -> None:
        raise AssertionError("nobody asks")


async def test_a_replica_that_goes_while_the_change_waits_for_its_estimate_is_not_asked() -> None:
    policy = load_policy(FILE, name="p", calibrate=lambda artefact: {}).policy
    assert policy is not None
    servers = {name: Server() for name in ("http://a", "http://b")}
    group = tuple(Replica("m", name, name, upstream=server) for name, server in servers.items())
    changed = msgspec.structs.replace(policy.arms["next=canary"], difficulty=Difficulty())
    world = World(residency=MemoryResidency(10, time.monotonic), now=time.time)

    async def asked(first: str) -> str:
        arm = Live(changed, {"m": group}, Meanwhile(servers[first]))
        found = await Change("next", world).choose(Live(policy, {"m": group}, arms={"next=canary": arm}), errand())
        assert isinstance(found, Asked)
        return found.call.replica

    came_to = await asked("http://b")
    servers["http://b"].is_ready = True

    assert came_to == "http://a"
    assert await asked("http://a") == "http://b"


def errand() -> Errand:
    call = Call("m", "http://a")
    decision = Decision(steps=(call,), route="r", reason="", policy_hash="")
    return Errand(
        picked=Picked(Shadow(name="s", to="", rollout="next")),
        request=ChatRequest(raw=b"{}", model="auto", messages=(Message(role="user", text="hi"),)),
        salt=b"tenant",
        judged=Judged(Facts(), Estimate(), decision, Snapshot(replicas={}), {}),
        settlement=Settlement(
            request_id="r1",
            dialect="openai_chat",
            tenant="t",
            stream=True,
            status=200,
            end="stop",
            attempts=1,
            duration_ms=1.0,
        ),
        answered_by=call,
        events=[],
        observation=NullObservation(),
    )
