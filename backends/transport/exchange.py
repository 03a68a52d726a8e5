"""One response, for who reads it: its connection tells it what comes. Knows HTTP/1.1, no socket."""

import asyncio
from collections.abc import Mapping
from typing import Protocol

import msgspec

from backends.transport.alarms import Near, Waits
from backends.transport.heads import lines_of
from backends.transport.interface import FailureKind, Into, TransportError, late


class Bounds(msgspec.Struct, frozen=True, kw_only=True):
    """What a peer may make us hold: header lines, bytes of the head, bytes of body not read yet. `linger_s` is how long the
    end of a body that is known to be whole is awaited."""

    headers: int = 128
    head_bytes: int = 64 * 1024
    unread_bytes: int = 256 * 1024
    linger_s: float = 1.0


class Flow(Protocol):
    """The connection behind."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def leave(self) -> None:
        """Whoever waited for the rest has given it up."""
        ...


class Exchange:
    """One response. What has no underscore is the connection's to write, as it comes; the rest is for who reads it.

    `head` is there when the reader may go on. `reusable`: another exchange may follow this one when it is `done`. `known`
    begins with a head that was not parsed, as its form was known. With `whole_s` the head of a good answer is there when all of
    it is, or as much as is held unread, and it has to be over before `until`. While it is `lingering` nobody wants the rest.
    An exchange holds its connection until it is over, one way or the other, and then lets go of it at once.
    """

    __slots__ = (
        "_bounds",
        "_error",
        "_flow",
        "_headers",
        "_into",
        "_loop",
        "_near",
        "_paused",
        "_waiter",
        "done",
        "head",
        "head_bytes",
        "is_heard",
        "is_packed",
        "known",
        "lines",
        "lingering",
        "of_head",
        "pieces",
        "reusable",
        "status",
        "together",
        "unread",
        "until",
        "until_eof",
        "whole_s",
    )

    def __init__(self, flow: Flow, bounds: Bounds, loop: asyncio.AbstractEventLoop) -> None:
        self._flow: Flow | None = flow
        self._bounds = bounds
        self._loop = loop
        self.head: asyncio.Future[None] = loop.create_future()
        self.status = self.head_bytes = self.of_head = self.unread = 0
        self.is_heard = self.is_packed = self.done = self.reusable = self.until_eof = self._paused = False
        self.lines: list[tuple[bytes, bytes]] = []
        self.pieces: list[bytes] = []
        self.known = b""
        self._headers: Mapping[str, str] | None = None
        self._error: TransportError | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._into: Into | None = None
        self.lingering: asyncio.TimerHandle | None = None
        self._near: Near | None = None
        self.together: set[Waits] | None = None
        self.whole_s = self.until = 0.0

    # connection's side

    def head_came(self, status: int, *, can_follow: bool) -> None:
        """Its lines are all there. What an interim answer says is forgotten."""
        self.status = status
        if status < 200:
            self.lines.clear()
            self.is_packed = False
            return
        self.of_head, self.reusable = len(self.lines), can_follow
        if not can_follow:
            chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
            bodiless = status in (204, 304)
            self.until_eof = not (chunked or bodiless or "content-length" in self.headers)

    def came(self) -> bool:
        """Bytes have come, and what they say is written down. Whether that is all, and the connection is free."""
        over = self.done or self._error is not None
        if over:
            self._let_go()
        elif self.unread > self._bounds.unread_bytes and not self._paused and self._flow is not None:
            self._paused = True
            self._flow.pause()
        waiter = self._waiter
        if waiter is not None:
            if not waiter.done() and not self._poured(waiter) and not waiter.done():
                waiter.set_result(None)
        elif not self.head.done() and (over or self._may_go_on()):
            self.head.set_result(None)
        return over

    def ended(self, error: Exception | None) -> None:
        """The connection is gone: the proper end of a body without a length, and a loss otherwise."""
        if self.until_eof and error is None and self._error is None:
            self.done = True
        elif not self.done:
            self.fail("lost", "the upstream closed the connection before its answer was complete")
        self.came()

    def fail(self, kind: FailureKind, message: str) -> None:
        self.reusable = False
        if not self.done and self._error is None:
            self._fail(TransportError(kind, message, sent=True))

    def is_near(self) -> None:
        """The alarm's word."""
        self.together, self._near = None, Near(self._loop, self.until, self._late)

    def _fail(self, error: TransportError) -> None:
        self._error = error
        if not self.head.done():
            self.head.set_exception(error)

    def _late(self) -> None:
        self._fail(late(self.whole_s))
        self.give_up()
        self.came()

    def _may_go_on(self) -> bool:
        return self.status >= 200 and (not self.whole_s or self.status >= 300 or self._paused)

    def _let_go(self) -> None:
        """Of all that is not its own."""
        flow, self._flow = self._flow, None
        if self.together is not None:
            self.together.discard(self)
            self.together = None
        elif self._near is not None:
            self._near.cancel()
            self._near = None
        if self.lingering is not None:
            self.lingering.cancel()
        if self._paused and flow is not None:
            self._paused = False
            flow.resume()

    # reader's side

    @property
    def headers(self) -> Mapping[str, str]:
        """Read when somebody asks; what follows a body in chunks is none of the head."""
        if self._headers is None:
            lines = lines_of(self.known) if self.known else self.lines[: self.of_head]
            self._headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in reversed(lines)}
        return self._headers

    async def read(self) -> bytes:
        while not self.pieces:
            if self._error is not None:
                raise self._error
            if self.done:
                return b""
            await self._more()
        return self._taken()

    async def pour(self, into: Into) -> None:
        """Every piece goes on in the instant in which it comes, until `into` takes no more."""
        while into(await self.read()):
            if self.pieces or self.done or self._error is not None:
                continue
            self._into = into
            try:
                await self._more()
            finally:
                still, self._into = self._into, None
            if still is None:
                return

    def _poured(self, waiter: "asyncio.Future[None]") -> bool:
        """Whether what has come went on, and whoever waits for the end of it may go on waiting."""
        if self._into is None or not self.pieces:
            return False
        try:
            if self._into(self._taken()):
                return not self.done and self._error is None
            self._into = None
        except Exception as error:
            if not waiter.done():
                waiter.set_exception(error)
            return True
        return False

    def _taken(self) -> bytes:
        data = self.pieces[0] if len(self.pieces) == 1 else b"".join(self.pieces)
        self.pieces.clear()
        self.unread = 0
        if self._paused and self._flow is not None:
            self._paused = False
            self._flow.resume()
        return data

    async def _more(self) -> None:
        self._waiter = self._loop.create_future()
        try:
            await self._waiter
        finally:
            self._waiter = None

    async def aclose(self, *, whole: bool = False) -> None:
        if self.lingering is not None:
            return
        if whole and self._flow is not None:
            self.lingering = self._loop.call_later(self._bounds.linger_s, self.give_up)
            self._taken()
        else:
            self.give_up()

    def give_up(self) -> None:
        """Whatever is missing, nobody waits for it any more: the connection is closed."""
        flow = self._flow
        if flow is not None:
            self._let_go()
            flow.leave()
