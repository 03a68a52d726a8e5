"""The hold-back window: the beginning of an answer, kept from the client until it is judged.

Bounded in tokens and in time. It passes everything on after a good verdict, and nothing after a bad one.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import TypeVar

from backends.messages import Event
from backends.upstream import Answer
from gateway.request.egress import speaks
from gateway.request.escalate.head_start import HeadStart
from gateway.request.escalate.listen import Listener, unmarked
from gateway.request.escalate.second import SecondOpinion
from policies.advance import GivenUp
from policies.escalate.plan import Escalation
from policies.escalate.said import Said
from policies.escalate.verdict import Verdict

T = TypeVar("T")

Judge = Callable[[Said, Said | None], Verdict]
"""Of what was said, and of what another model said to the same."""


@dataclass(slots=True)
class HeldBack:
    """One answer of a lower tier. `judge` is asked once, with the `second` opinion on an answer that is whole.
    `may_escalate` takes one from the route's share, if there is one.

    `in_pieces`: the client reads a stream; an answer that leaves in one piece is judged when it is all there, however
    long that takes. `shows_all`: nothing is in the events that the client did not ask for. After `through` is over,
    `given_up` tells whether the answer was given up and `events` are what was kept.
    """

    plan: Escalation
    judge: Judge
    may_escalate: Callable[[], bool]
    released: Callable[[Verdict, bool], None]
    in_pieces: bool
    shows_all: bool
    second: SecondOpinion | None = None
    head_start: HeadStart | None = None
    listener: Listener = field(default_factory=Listener)
    events: list[Event] = field(default_factory=list)
    verdict: Verdict | None = None
    given_up: GivenUp = ""
    _until: float | None = None
    _over: bool = False
    _looked: bool = False

    async def through(self, answer: Answer, seen: Callable[[Event], None]) -> AsyncGenerator[Event, None]:
        """Events for the client. `seen` is told of each when it arrives. Raises what the answer raises."""
        source = aiter(answer)
        pending: asyncio.Future[Event | None] | None = None
        try:
            while self.verdict is None:
                pending = pending or asyncio.ensure_future(anext(source, None))
                if await self._comes_in_time(pending):
                    is_enough = self._arrived(pending.result(), seen)
                    pending = None
                else:
                    is_enough = True
                if is_enough:
                    await self._decide()
            if self.given_up:
                return
            for event in self.events:
                yield event
            while not self._over:
                more = await (pending or anext(source, None))
                pending = None
                shown = self._passed(more, seen)
                if shown is not None:
                    yield shown
        finally:
            await forget(pending)
            if isinstance(source, AsyncGenerator):
                await source.aclose()

    async def _comes_in_time(self, pending: "asyncio.Future[Event | None]") -> bool:
        """The window's clock runs from the first content."""
        left_s = None if self._until is None else max(0.0, self._until - asyncio.get_running_loop().time())
        done, _ = await asyncio.wait((pending,), timeout=left_s)
        return bool(done)

    def _arrived(self, event: Event | None, seen: Callable[[Event], None]) -> bool:
        """Whether that is enough for a verdict."""
        shown = self._passed(event, seen)
        if shown is not None:
            self.events.append(shown)
        if self.head_start is not None and not self._looked and 2 * self.listener.tokens >= self.plan.tokens:
            self._look_ahead(self.head_start)
        full = self.in_pieces and self.listener.tokens >= self.plan.tokens and not self.listener.ending
        return self._over or full

    def _passed(self, event: Event | None, seen: Callable[[Event], None]) -> Event | None:
        """The event as the client may see it; None at the end, and where nothing is left of it."""
        if event is None:
            self._over = True
            return None
        seen(event)
        if self.verdict is None:
            self.listener.hear(event)
            if self._until is None and self.in_pieces and speaks(event):
                self._until = asyncio.get_running_loop().time() + self.plan.hold_s
        return event if self.shows_all else unmarked(event)

    async def _decide(self) -> None:
        other = await self.second.said(self.plan.hold_s) if self.second is not None and self._over else None
        self.verdict = self.judge(self.listener.said(), other)
        if self.verdict.escalates and self.may_escalate():
            self.given_up = "whole" if self._over else "part"
        else:
            self.released(self.verdict, self.verdict.escalates)
            if self.head_start is not None:
                await self.head_start.aclose()

    def _look_ahead(self, head_start: HeadStart) -> None:
        """Half of the window is full: whoever may be needed soon is asked now."""
        self._looked = True
        if self.judge(self.listener.said(), None).p_correct < self.plan.early_under:
            head_start.begin()


async def forget(pending: "asyncio.Future[T] | None") -> None:
    """What nobody waits for any more; whoever produces it is closed next."""
    if pending is None:
        return
    pending.cancel()
    await asyncio.wait((pending,))
    if not pending.cancelled():
        pending.exception()
