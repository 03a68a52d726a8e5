"""A small and a large model that say what a script has them say, when it says so, behind the real drive and egress."""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import get_args

from servers.virtual_time import VirtualLoop

from backends.dialects.openai_chat.dialect import OpenAIChat
from backends.dialects.openai_chat.request import read_chat
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Event
from backends.upstream import Load, Prepared, Upstream, UpstreamCall
from gateway.errors import RouterError
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.affinity import Affinity
from gateway.request.drive import drive
from gateway.request.egress import StreamEgress
from gateway.request.escalate.cascade import cascade_of
from gateway.request.identity import ANONYMOUS
from gateway.request.job import Job
from gateway.request.judge import judge
from gateway.request.owner import Owner
from gateway.request.settle import Books
from gateway.request.snapshot import World
from gateway.request.whole_egress import WholeEgress
from gateway.state.memory import MemoryResidency
from gateway.telemetry.unseen import NullObservation
from policies.catalogue import Model, Price
from policies.escalate.plan import Escalation, Signal
from policies.escalate.prior import PRIOR
from policies.facts import Ability
from policies.policy import Policy, Resilience, Route

Beat = tuple[float, Event | UpstreamError]
"""After so many seconds: an event, or the end by an error."""

CAN: frozenset[Ability] = frozenset(("logprobs", "json_schema"))
ALL: frozenset[Signal] = frozenset(get_args(Signal))
PLAN = Escalation(
    name="careful",
    to="large",
    under=0.5,
    signals=ALL,
    tokens=6,
    hold_s=0.4,
    weights={"": PRIOR},
    logprobs_of=frozenset({"small"}),
)


def loop_time() -> float:
    return asyncio.get_running_loop().time()


@dataclass(eq=False)
class Spoken:
    """One answer under way. `first_at` and `closed_at` on the loop's clock."""

    beats: Sequence[Beat]
    first_at: float | None = None
    closed_at: float | None = None

    async def __aiter__(self) -> AsyncIterator[Event]:
        for wait_s, event in self.beats:
            if wait_s:
                await asyncio.sleep(wait_s)
            if isinstance(event, UpstreamError):
                raise event
            self.first_at = loop_time() if self.first_at is None else self.first_at
            yield event

    async def aclose(self) -> None:
        self.closed_at = loop_time() if self.closed_at is None else self.closed_at


class Scripted:
    """An upstream that gives one script after the other; the last one again and again."""

    def __init__(self, *scripts: Sequence[Beat]) -> None:
        self.scripts = list(scripts)
        self.answers: list[Spoken] = []
        self.calls: list[UpstreamCall] = []

    def prepare(self, request: ChatRequest, salt: bytes) -> Prepared:
        return Prepared(tokens=10, exact=True)

    async def start(self, call: UpstreamCall) -> Spoken:
        self.calls.append(call)
        beats = self.scripts[min(len(self.calls), len(self.scripts)) - 1]
        if beats and isinstance(beats[0][1], UpstreamError) and not beats[0][1].sent:
            raise beats[0][1]
        self.answers.append(Spoken(beats))
        return self.answers[-1]

    def resident_tokens(self, prepared: Prepared) -> int | None:
        return 0

    def load(self) -> Load:
        return Load()

    async def aclose(self) -> None:
        pass


@dataclass
class Client:
    """`pieces` with the instant at which they came. One that does not read has no room for a second one."""

    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)
    status: int = 0
    ends: int = 0
    reads: bool = True
    begun: bool = False
    whole_body: bytes | None = None

    @property
    def has_room(self) -> bool:
        return self.reads or not self.pieces

    async def room(self) -> None:
        if not self.has_room:
            await asyncio.Event().wait()

    def carries(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """No page is behind it."""

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        self.begin(status, headers)
        self.write(body, more=False)

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        self.begun, self.status, self.headers = True, status, dict(headers)

    def write(self, data: bytes, *, more: bool = True) -> None:
        self.pieces.append((loop_time(), data))
        self.ends += not more

    @property
    def body(self) -> bytes:
        return b"".join(body for _, body in self.pieces)

    @property
    def text(self) -> str:
        """What the user reads."""
        if not self.body.startswith(b"data: "):
            return str(json.loads(self.body)["choices"][0]["message"]["content"]) if self.body else ""
        chunks = [json.loads(line[6:]) for line in self.body.split(b"\n\n") if line.startswith(b"data: {")]
        choices = [choice for chunk in chunks for choice in chunk.get("choices", ())]
        return "".join(choice["delta"].get("content") or "" for choice in choices)


@dataclass
class Came:
    """What one request came to."""

    client: Client
    books: Books
    error: RouterError | None
    left: bool
    world: World


class Stage:
    """One policy, `small` escalating to `large`, perhaps with the opinion of `other`, for any number of requests."""

    def __init__(self, plan: Escalation = PLAN, resilience: Resilience | None = None) -> None:
        models = {
            "small": Model(name="small", at=("s",), can=CAN, price=Price(1_000_000, 1_000_000, 2_000_000)),
            "other": Model(name="other", at=("o",), can=CAN, price=Price(2_000_000, 2_000_000, 2_000_000)),
            "large": Model(name="large", at=("l",), can=CAN, price=Price(10_000_000, 10_000_000, 20_000_000)),
        }
        route = Route(name="default", use="small", escalate=plan.name)
        self.policy = Policy(
            hash="h",
            name="p",
            models=models,
            routes=(route,),
            escalations={plan.name: plan},
            resilience=resilience or Resilience(),
        )

    async def play(
        self,
        small: Upstream,
        large: Upstream,
        *,
        stream: bool = True,
        leaves_after_s: float | None = None,
        cut_at: Sequence[int] = (),
        world: World | None = None,
        other: Upstream | None = None,
        local: bool = False,
        reads: bool = True,
        **fields: object,
    ) -> Came:
        """One request from the decision to the books; the client may leave. `local`: engines of this process. `cut_at`: after
        so many turns of a virtual loop it is cancelled."""
        world = world or fresh_world()
        replicas = {
            "small": (Replica("small", "s", 1, upstream=small, is_local=local),),
            "other": (Replica("other", "o", 3, upstream=other, lacks="" if other else "nobody is there"),),
            "large": (Replica("large", "l", 2, upstream=large, is_local=local),),
        }
        live = Live(self.policy, replicas)
        body = {"model": "auto", "messages": [{"role": "user", "content": "q"}], "stream": stream, **fields}
        request = read_chat(json.dumps(body).encode())
        came = Came(Client(reads=reads), Books("req_1", "openai_chat"), None, False, world)
        serving = asyncio.create_task(self._serve(live, request, came, world))
        timer = leaves_after_s is not None and asyncio.get_running_loop().call_later(leaves_after_s, serving.cancel)
        cut(serving, cut_at)
        try:
            await serving
        except RouterError as error:
            came.error = error
        except asyncio.CancelledError:
            came.left = True
        finally:
            if timer:
                timer.cancel()
        await asyncio.sleep(0)  # what was cancelled gets its turn
        task = asyncio.current_task()
        assert asyncio.all_tasks() == {task}, f"left running: {asyncio.all_tasks() - {task}}"
        assert not any(replica.running or replica.queued_tokens for replica in live)
        return came

    async def _serve(self, live: Live, request: ChatRequest, came: Came, world: World) -> None:
        egress = StreamEgress(OpenAIChat(), came.client, request, "id", silence_s=60) if request.stream else None
        out = egress or WholeEgress(OpenAIChat(), came.client, request, "id")
        async with aclosing(Owner(live, NullObservation())) as owner:
            judged = await judge(live, request, ANONYMOUS, {}, world)
            came.books.decision, came.books.reason = judged.decision, judged.decision.reason
            cascade = cascade_of(live.policy, request, judged, world.escalations, came.books)
            total_at = loop_time() + live.policy.resilience.total_s
            affinity = Affinity(live, world.residency)
            try:
                await drive(
                    Job(
                        live=live,
                        request=request,
                        salt=b"",
                        judged=judged,
                        affinity=affinity,
                        owner=owner,
                        out=out,
                        books=came.books,
                        cascade=cascade,
                        total_at=total_at,
                    )
                )
            finally:
                out.close()


def cut(task: "asyncio.Task[None]", turns: Sequence[int]) -> None:
    """Cancels it after each of so many turns of a virtual loop, if it still goes on then."""
    loop = asyncio.get_running_loop()
    for turn in turns:
        assert isinstance(loop, VirtualLoop)
        loop.after_turns(turn, task.cancel)


def fresh_world() -> World:
    return World(residency=MemoryResidency(10, loop_time), now=lambda: 0.0)
