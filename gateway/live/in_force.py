"""What is in force: one policy and the replicas built for it, read once by a request and kept until it ends."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Protocol

from backends.upstream import Upstream
from classifiers.features.numbers import Numbers
from classifiers.question import Question
from gateway.live.replicas import Replica
from policies.decision import Call
from policies.estimates import Estimate, Unsettled
from policies.experiments.enrol import arm_of
from policies.experiments.plan import Assignment
from policies.policy import Policy

READY_POLL_S = 0.05

LINGER_S = 60.0
"""Beyond the time that a request may take, after which no request can name a replica that departed."""


class GaveUp(Exception):
    """An engine that will not be ready; the message says which and why."""


class Estimates(Protocol):
    """How hard a question is, within a time or not at all. `unsettled` is asked where a quick estimate will not do."""

    def begin(
        self, question: Question, within_s: float, unsettled: Unsettled | None = None
    ) -> Estimate | Awaitable[Estimate]:
        """At once where nobody has to be waited for; then `unsettled` was asked in the same instant."""
        ...

    def numbers(self, question: Question) -> Callable[[], Numbers | None]:
        """What is to be asked, from any thread, for what heads read of the newest turn; None as long as that is not known."""
        ...


class Group:
    """The replicas of one model, and what follows from who they are: `names`, each once; whether it matters which of them is
    asked, or may matter when more are found (`has_choice`); whether the model's tokenizer reads its prompts here
    (`tokenises`); whether their length in tokens, their prefix, or the salt that keeps them apart, is of use (`reads`); and
    who tells where prompts lie in words for other gateways (`markers`)."""

    __slots__ = ("has_choice", "markers", "names", "reads", "replicas", "tokenises")

    def __init__(self, replicas: tuple[Replica, ...]) -> None:
        first = replicas[0] if replicas else None
        self.replicas = replicas
        self.names = tuple(dict.fromkeys([replica.name for replica in replicas]))
        self.has_choice = first is not None and not first.is_local and (len(replicas) > 1 or first.is_found)
        self.tokenises = first is not None and (first.is_local or first.hear is not None)
        self.reads = self.has_choice or self.tokenises
        self.markers = tuple([replica.marker for replica in replicas if replica.marker is not None])

    @property
    def reader(self) -> Replica | None:
        """Who measures prompts, where that is of use and can be done."""
        return self.replicas[0] if self.reads and self.replicas[0].upstream is not None else None


class Live:
    """A policy with its replicas. Replaced as a whole, and closed when its last request has ended; until then nothing
    changes but the lines of its routes, and the replicas of models whose replicas are found."""

    def __init__(
        self,
        policy: Policy,
        replicas: Mapping[str, tuple[Replica, ...]],
        estimator: Estimates | None = None,
        let_go: Callable[[], Awaitable[None]] | None = None,
        arms: Mapping[str, "Live"] | None = None,
    ) -> None:
        """`let_go` gives the estimator back. `arms` are what variants of an experiment are answered by, by their name; where
        a variant changes nothing of a model they have the same replicas."""
        self.policy = policy
        self.replicas = dict(replicas)
        self.groups = {model: Group(group) for model, group in replicas.items()}
        self._models = tuple(self.groups)
        self._together: dict[tuple[str, ...], Group] = {}
        self.estimator = estimator
        self.arms = dict(arms or {})
        self._let_go = let_go
        self._by_call = {(replica.model, replica.name): replica for replica in self._own()}
        self._departed: dict[Replica, float] = {}
        self._requests = 0
        self._retired = False
        self._over = asyncio.Event()
        for replica in self._own():
            replica.lives += 1

    def __iter__(self) -> Iterator[Replica]:
        """Every replica once, those of arms as well."""
        return iter(dict.fromkeys([replica for _, part in self.named() for replica in part._own()]))

    def arm(self, assignments: Iterable[Assignment]) -> "Live":
        """What answers a request with these variants."""
        return self.arms.get(arm_of(assignments), self) if self.arms else self

    def named(self) -> Iterator[tuple[str, "Live"]]:
        """What is in force under no name, and its arms under theirs."""
        yield "", self
        yield from self.arms.items()

    def _own(self) -> Iterator[Replica]:
        return (replica for group in self.replicas.values() for replica in group)

    def asked(self, model: str) -> Sequence[str]:
        """The models that may answer, by what the client asks for."""
        return (model,) if model in self.groups else self._models

    def together(self, models: Sequence[str]) -> Group:
        """The replicas of several models as those of one."""
        if len(models) == 1:
            return self.groups[models[0]]
        asked = tuple(models)
        group = self._together.get(asked)
        if group is None:
            every = [replica for model in asked for replica in self.groups[model].replicas]
            group = self._together[asked] = Group(tuple(every))
        return group

    def replica(self, call: Call) -> Replica:
        return self._by_call[call.model, call.replica]

    @property
    def in_flight(self) -> int:
        return self._requests

    @property
    def is_hopeless(self) -> bool:
        """Whether nobody will ever answer: every replica is an engine of this process that did not open."""
        return bool(self._by_call) and all(replica.did_not_open for replica in self)

    def redraw(self, policy: Policy) -> None:
        """The same policy with other lines; who is deciding in this instant has read the one before."""
        self.policy = policy
        for name, arm in self.arms.items():
            arm.redraw(policy.arms[name])

    def place(self, model: str, found: tuple[Replica, ...]) -> None:
        """These are the replicas of `model` from here on. Who is not among them any more gets no new request; what was
        decided before may still name it. One that departed just now comes back as the same one (see `departed`)."""
        before = self.replicas[model]
        for fresh in [replica for replica in found if replica not in before]:
            fresh.lives += fresh not in self._departed
            self._departed.pop(fresh, None)
            self._by_call[model, fresh.name] = fresh
        for gone in [replica for replica in before if replica not in found]:
            self._departed[gone] = gone.clock() + self.policy.resilience.total_s + LINGER_S
        self.replicas[model] = found
        self.groups[model] = Group(found)
        self._together.clear()

    def departed(self, model: str, name: str) -> Replica | None:
        """Who left and is not closed yet: it may have work of ours, and all that is known of it."""
        there = self._by_call.get((model, name))
        return there if there in self._departed else None

    async def let_departed_go(self) -> None:
        """Close those that no request can name any more."""
        for gone in [replica for replica, until in self._departed.items() if replica.clock() > until]:
            del self._departed[gone]
            self._by_call.pop((gone.model, gone.name), None)
            await self._release(gone)

    def enter(self) -> None:
        self._requests += 1

    def leave(self) -> None:
        self._requests -= 1
        if self._retired and self._requests == 0:
            self._over.set()

    async def open(self, within_s: float) -> None:
        """Open what is not open yet and wait until every engine in this process is ready.

        Raises what opening raised, GaveUp, and TimeoutError.
        """
        for replica in self:
            await replica.open_off_loop()
        async with asyncio.timeout(within_s):
            while not self._is_ready():  # noqa: ASYNC110  only asking tells
                await asyncio.sleep(READY_POLL_S)

    def _is_ready(self) -> bool:
        loads = [(replica.model, replica.load()) for replica in self if replica.is_local]
        for model, load in loads:
            if load.gave_up:
                raise GaveUp(f"{model}: {load.why_not}")
        return all(load.ready for _, load in loads)

    async def retire(self) -> None:
        """Wait for the requests under way, then close the replicas that no other policy in force names."""
        self._retired = True
        if self._requests:
            await self._over.wait()
        for replica in (*self._own(), *self._departed):
            await self._release(replica)
        for arm in self.arms.values():
            await arm.retire()
        if self._let_go is not None:
            let_go, self._let_go = self._let_go, None
            await let_go()

    async def _release(self, replica: Replica) -> None:
        replica.lives -= 1
        if replica.lives == 0:
            await replica.aclose()


def opened(replica: Replica) -> Upstream:
    """The upstream of a replica that a decision chose. A decision only chooses replicas that said they are ready."""
    assert replica.upstream is not None
    return replica.upstream
