"""One replica as the gateway sees it: its upstream, and the work that was promised to it.

Work counts from the moment of choice, before the upstream hears of it: of many requests decided in one instant each sees
the ones before it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import msgspec

from backends.upstream import Load, Upstream
from gateway.live.unawaited import in_daemon

Forgot = Callable[[], Awaitable[None]]
"""To be called when a replica lost its prefix cache."""


@dataclass(slots=True, eq=False)
class Replica:
    """An upstream, or what opens one that takes its time.

    `hear` listens for ever to a replica that tells what it holds: a worker. `built_from` is what the upstream was made of:
    a reload keeps a replica whose parts are the same. `lacks` says what the configuration owes it. `did_not_open`: opening
    raised `why_not`. `lives` counts the policies in force that name it.
    """

    model: str
    name: str
    built_from: object
    open: Callable[[], Upstream] | None = None
    is_local: bool = False
    hear: Callable[[Forgot], Awaitable[None]] | None = None
    lacks: str = ""
    upstream: Upstream | None = None
    why_not: str = "loading"
    did_not_open: bool = False
    running: int = 0
    queued_tokens: int = 0
    lives: int = 0

    def load(self) -> Load:
        """The replica's own word on its load, or ours where we know of more work."""
        if self.lacks or self.upstream is None:
            return Load(ready=False, why_not=self.lacks or self.why_not, gave_up=self.did_not_open)
        own = self.upstream.load()
        if own.running >= self.running and own.queued_tokens >= self.queued_tokens:
            return own
        return msgspec.structs.replace(
            own,
            queued_tokens=max(own.queued_tokens, self.queued_tokens),
            running=max(own.running, self.running),
        )

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
    """One request's share of a replica's load. Each part is given back exactly once, however often it is asked."""

    __slots__ = ("_held", "_queued", "_replica")

    def __init__(self, replica: Replica, tokens: int) -> None:
        self._replica, self._queued, self._held = replica, tokens, True
        replica.running += 1
        replica.queued_tokens += tokens

    def prefilled(self) -> None:
        """The first content is here: the prompt is no longer waiting work."""
        self._replica.queued_tokens -= self._queued
        self._queued = 0

    def release(self) -> None:
        self.prefilled()
        if self._held:
            self._held = False
            self._replica.running -= 1
