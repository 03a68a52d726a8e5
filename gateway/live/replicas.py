"""One replica as the gateway sees it: its upstream, and the work that was promised to it.

Work counts from the moment of choice, before the upstream hears of it: of many requests decided in one instant each sees
the ones before it.
"""

import time
from collections.abc import Awaitable, Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import msgspec

from backends.upstream import Load, Prepared, Upstream
from gateway.live.crowds import Crowds
from gateway.live.keeps import Keeps
from gateway.live.prefills import Prefills
from gateway.live.trust import Trust
from gateway.live.unawaited import in_daemon
from gateway.state.residency import NO_WORK, WORK_LIFE_S, Work
from policies.snapshot import ReplicaState

Forgot = Callable[[], Awaitable[None]]
"""To be called when a replica lost its prefix cache."""


class Marker(Protocol):
    """A replica that tells where prompts lie in its cache, in words that other gateways can be given."""

    def marked_blocks(self, prepared: Prepared) -> int:
        """Leading blocks of the prompt whose marks are known here."""
        ...

    def marks(self, prepared: Prepared) -> bytes:
        """Marks of all blocks of the prompt, or nothing when one is missing."""
        ...

    def take_marks(self, prepared: Prepared, first: int, marks: bytes) -> None:
        """Marks of the blocks from number `first` on, as another gateway learnt them."""
        ...


@dataclass(slots=True)
class Others:
    """What other gateways gave a replica to do, when that was last heard."""

    work: Work = NO_WORK
    heard_at: float = 0.0

    def at(self, now: float) -> Work:
        return self.work if now - self.heard_at < WORK_LIFE_S else NO_WORK


@dataclass(slots=True, eq=False)
class Replica:
    """An upstream, or what opens one that takes its time.

    `hear` listens for ever to a replica that tells what it holds: a worker. `probe` asks one that does not how it is, within
    so many seconds, and `with_others` adds what it said to our own count. `built_from` is what the upstream was made of:
    a reload keeps a replica whose parts are the same. `lacks` says what the configuration owes it. `did_not_open`: opening
    raised `why_not`. `lives` counts the policies in force that name it. `is_found`: it was not listed but found, and so may
    go and be joined by others. `tells` hears of every change of what we gave it to do, where somebody wants to. `reads_as` is
    equal for replicas whose upstreams measure every prompt alike, and know nothing of where it lies; None where one
    may know.
    """

    model: str
    name: str
    built_from: object
    open: Callable[[], Upstream] | None = None
    is_local: bool = False
    hear: Callable[[Forgot], Awaitable[None]] | None = None
    probe: Callable[[float], Awaitable[object]] | None = None
    lacks: str = ""
    upstream: Upstream | None = None
    why_not: str = "loading"
    did_not_open: bool = False
    running: int = 0
    queued_tokens: int = 0
    active_tokens: int = 0
    lives: int = 0
    with_others: Callable[[Load], Load] | None = None
    marker: Marker | None = None
    is_found: bool = False
    tells: Callable[["Replica"], None] | None = None
    reads_as: Hashable | None = None
    clock: Callable[[], float] = time.monotonic
    others: Others = field(default_factory=Others)
    keeps: Keeps = field(default_factory=Keeps)
    prefills: Prefills = field(default_factory=Prefills)
    crowds: Crowds = field(default_factory=Crowds)
    trust: Trust = field(init=False)
    _standing: ReplicaState | None = field(default=None, init=False, repr=False)
    _stood_by: Load | None = field(default=None, init=False, repr=False)

    def __post_init__(self) -> None:
        self.trust = Trust(self.clock, is_new=self.is_found)

    def load(self) -> Load:
        """Our own work, and others': of each the larger of the replica's own word and what we know of."""
        own, now = self._own_word(), self.clock()
        if not self.running and self.others.at(now) is NO_WORK:
            return own
        running, queued, active = self._amounts(own, self.computed(now))
        return msgspec.structs.replace(own, running=running, queued_tokens=queued, active_tokens=active)

    def standing(self) -> ReplicaState:
        """Its state for a prompt of which nothing is there. The same value again as long as nothing has happened to it, and
        time alone changes nothing."""
        trust, upstream = self.trust, self.upstream
        kept = self._standing if trust.is_at_ease and not self.lacks else None
        if kept is not None and upstream is not None and upstream.load() is self._stood_by:
            return kept
        own, prefills = self._own_word(), self.prefills
        done = self.computed(self.clock()) if prefills.tokens_per_s else 0
        running, queued, active = self._amounts(own, done)
        rests = "" if trust.is_at_ease or not own.ready else trust.why_out()
        state = ReplicaState(
            replica=self.name,
            ready=own.ready,
            why_not=own.why_not,
            rests=rests,
            queued_tokens=queued,
            running=running,
            active_tokens=active,
            prefill_tokens_per_s=prefills.tokens_per_s,
        )
        is_alone = self.with_others is None and self.others.work is NO_WORK
        is_done = not prefills.tokens_per_s or done == prefills.oldest_tokens
        self._standing, self._stood_by = (state, own) if is_alone and is_done and not rests else (None, None)
        return state

    def changed(self) -> None:
        """What we gave it to do is not what it was."""
        self._standing = None
        if self.tells is not None:
            self.tells(self)

    def _own_word(self) -> Load:
        if self.lacks or self.upstream is None:
            return Load(ready=False, why_not=self.lacks or self.why_not, gave_up=self.did_not_open)
        own = self.upstream.load()
        return own if self.with_others is None else self.with_others(own)

    def _amounts(self, own: Load, done: int) -> tuple[int, int, int]:
        """Requests, tokens that wait and tokens that are read; of those that wait `done` are computed by now."""
        others = self.others.work
        if others is not NO_WORK:
            others = self.others.at(self.clock())
        running = own.running - own.others_running
        running = running if running > self.running else self.running
        waiting = own.queued_tokens - own.others_queued_tokens
        waiting = waiting if waiting > self.queued_tokens else self.queued_tokens
        running += others.running if others.running > own.others_running else own.others_running
        ahead = others.queued_tokens if others.queued_tokens > own.others_queued_tokens else own.others_queued_tokens
        active = self.active_tokens + others.active_tokens
        return running, waiting - done + ahead, active if active > own.active_tokens else own.active_tokens

    def computed(self, now: float) -> int:
        """Tokens of what waits that should be computed by now. An engine of this process says itself what is left."""
        return 0 if self.is_local else self.prefills.computed(now)

    def work(self) -> Work:
        """What this process gave it to do, as far as it is not done."""
        waiting = self.queued_tokens - self.computed(self.clock())
        return Work(self.running, waiting, self.active_tokens, self.crowds.told())

    def hear_of_others(self, work: Work) -> None:
        self.others, self._standing = Others(work, self.clock()), None

    async def open_off_loop(self) -> None:
        """Weights are read in a thread. Raises what opening raised."""
        if self.upstream is not None or self.open is None:
            return
        try:
            self.upstream = await in_daemon(self.open, f"open {self.model}")
            self.did_not_open = False
        except Exception as error:
            self.why_not, self.did_not_open = str(error) or type(error).__name__, True
            raise

    @property
    def failed(self) -> bool:
        """Whether it will not be ready by waiting."""
        return self.load().gave_up

    @property
    def is_loading(self) -> bool:
        """Whether an engine of this process is on its way."""
        return self.is_local and not self.failed and not self.load().ready

    def let_go(self) -> None:
        """Not to be closed any more: what loads does not stop for anybody, but it goes with the process."""
        self.upstream, self.why_not = None, "closed"

    async def aclose(self) -> None:
        if self.upstream is not None:
            upstream, self.upstream, self.why_not = self.upstream, None, "closed"
            await upstream.aclose()


class Claim:
    """One request's share of a replica's load. Each part is given back exactly once, however often it is asked.

    Of `tokens` of prompt `resident_tokens` are believed to be there; the others wait to be computed.
    """

    __slots__ = ("_active", "_held", "_marks", "_number", "_queued", "_replica", "_tokens")

    def __init__(self, replica: Replica, tokens: int, resident_tokens: int = 0, blocks: Sequence[bytes] = ()) -> None:
        queued = tokens - resident_tokens if tokens > resident_tokens else 0
        self._replica, self._tokens, self._held = replica, tokens, True
        self._queued, self._active = queued, 0
        self._marks = replica.crowds.come(blocks)
        now, others = replica.clock(), replica.others
        ahead = 0 if others.work is NO_WORK else others.at(now).queued_tokens
        self._number = replica.prefills.come(queued, now, ahead)
        replica.running += 1
        replica.queued_tokens += queued
        replica.changed()

    def prefilled(self, *, at_once: bool = True) -> None:
        """The first content is here: the prompt is no longer waiting work, but is read in every step. `at_once`: it came as
        soon as it was there, not with the whole answer."""
        if not self._held or self._active:
            return
        replica = self._replica
        replica.queued_tokens -= self._queued
        replica.active_tokens += self._tokens
        self._queued, self._active = 0, self._tokens
        if self._number:
            replica.prefills.go(self._number, replica.clock(), spoke=at_once)
            self._number = 0
        replica.changed()

    def release(self) -> None:
        if not self._held:
            return
        replica, self._held = self._replica, False
        replica.running -= 1
        replica.queued_tokens -= self._queued
        replica.active_tokens -= self._active
        self._queued = self._active = 0
        replica.crowds.go(self._marks)
        if self._number:
            replica.prefills.go(self._number, replica.clock(), spoke=False)
        replica.changed()
