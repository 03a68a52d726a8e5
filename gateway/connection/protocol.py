"""HTTP/1.1 as the server hears it, with bounds on what it waits for: bytes and time of a head, time of a body that nobody
reads, the rest between two requests, and how many connections there are.

Without them, a connection that says nothing, sends one header for ever, or goes on with a body that was refused, lives as
long as it likes. What is no HTTP, or comes too late, is refused in the envelope of every other error. And an offer to
upgrade is passed over, as RFC 9110 section 7.8 allows, instead of losing the body.
"""

import asyncio
from collections.abc import Mapping
from typing import Any

import httptools
import uvicorn
from uvicorn.server import ServerState

from gateway.connection.asgi import App, Asgi
from gateway.connection.attending import attended
from gateway.connection.caller import Caller
from gateway.connection.deadline import NEVER, Deadline
from gateway.connection.endpoints import NO_ENDPOINTS, Attend, Endpoints
from gateway.connection.flow import Flow
from gateway.connection.openings import Openings
from gateway.connection.parting import UNHEARD_BYTES, Parting
from gateway.connection.reader import Reader
from gateway.errors import BadRequest, RouterError, SlowRequest
from gateway.request.head import Head
from gateway.request.unasked import as_bytes, turn_away
from gateway.settings import Limits

READ_BYTES = 262_144
"""The most that one read may hold: behind a whole head there may be that much of a body."""

MOST_WAITING = 256
"""Requests that one connection sent before the first of them was answered. One read may hold thousands."""

AHEAD_BYTES = 65_536
"""Of a body, what is read before anybody asks for it."""

REST_S = 75.0
"""How long a connection may say nothing between two requests."""

CROWD = 128
"""Connections beyond the limit whose requests are refused in words; whoever comes behind them is hung up on."""


class BoundedProtocol(Flow):
    """One connection. What the class has is set by `bounded_by`. The exact bound on the head's size is `ingress`'s; this one
    bounds memory.

    At most one request is `_answering`, those behind it are `_waiting`; of at most one the body is still `_reading`. Between
    two requests it `_rests`.
    """

    __slots__ = (
        "_app",
        "_deadline",
        "_is_crowd",
        "_parting",
        "_reader",
        "_reading",
        "_rests",
        "_state",
        "_waiting",
        "loop",
    )

    limits = Limits()
    endpoints = NO_ENDPOINTS
    openings = Openings()

    def __init__(
        self,
        config: uvicorn.Config,
        server_state: ServerState,
        app_state: Mapping[str, Any],
        _loop: asyncio.AbstractEventLoop | None = None,
    ) -> None:
        super().__init__()
        self.loop = _loop or asyncio.get_running_loop()
        self._app: App = config.loaded_app
        self._state = server_state
        self._reader = Reader(self)
        self._deadline = Deadline(self.loop, self._late)
        self._waiting: list[tuple[Caller, Attend]] = []  # few: an empty deque has 700 bytes
        self._reading: Caller | None = None
        self._parting: Parting | None = None
        self._is_crowd = self._rests = False

    # The connection: what the transport and the server say of it

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # a stream's
        self.transport = transport
        self._state.connections.add(self)  # type: ignore[arg-type]  # as uvicorn's own protocols are
        crowd = len(self._state.connections) - self.limits.connections
        self._is_crowd = crowd > 0
        if crowd > CROWD:
            transport.abort()
        self._deadline.within(self.limits.head_read_s)

    def data_received(self, data: bytes) -> None:
        if self._parting is not None:
            return self._parting.heard(data)
        reader = self._reader
        try:
            reader.feed(data)
        except httptools.HttpParserError:
            self._unreadable()
        if reader.head_bytes and reader.awaits_head:
            self._await_rest_of_head(reader.head_bytes)
        elif reader.unsaid and reader.unsaid > self._most_of_head:
            self._part(heard_out=False)

    def eof_received(self) -> None:
        """A client that ends its side has ended the connection, but for what it has not taken yet."""
        if self.transport.get_write_buffer_size():
            self._part(heard_out=False)

    @property
    def _most_of_head(self) -> int:
        return self.limits.header_bytes + READ_BYTES

    def _await_rest_of_head(self, came: int) -> None:
        if came > self._most_of_head:
            self._part(heard_out=False)
        elif self._rests or self._deadline.due == NEVER:
            self._rests = False
            self._deadline.within(self.limits.head_read_s)

    def connection_lost(self, exc: Exception | None) -> None:
        self._state.connections.discard(self)
        self._deadline.close()
        self._waiting.clear()
        self.is_deaf = False
        caller, self._answering, self._reading = self._answering, None, None
        if caller is not None:
            caller.gone()
        self.resume_writing()
        self._reader.close()

    def shutdown(self) -> None:
        """The server stops: the request that is the last by now ends the connection."""
        latest = self._waiting[-1][0] if self._waiting else self._answering
        if latest is None:
            self.close()
        else:
            latest.keep_alive = False

    def close(self) -> None:
        """No more is said."""
        self._part(heard_out=bool(self._waiting) or not self._reader.is_quiet)

    def _part(self, *, heard_out: bool, patience_bytes: int = UNHEARD_BYTES) -> None:
        transport, wait_s = self.transport, self.limits.body_read_s
        if self._parting is None and not transport.is_closing():
            self.listen()
            self._parting = Parting(
                transport, self._deadline, heard_out=heard_out, wait_s=wait_s, patience_bytes=patience_bytes
            )

    # A request

    def asked(self, head: Head, *, keep_alive: bool, body: bytes | None = None) -> None:
        if len(self._waiting) >= MOST_WAITING:
            raise ValueError("more requests than are read before they are answered")
        caller = Caller(self, head, keep_alive)
        attend = self._attend_by(caller)
        self._rests = False
        self._deadline.due = NEVER
        if body is None:
            self._reading = caller
        else:
            caller.parts.append(body)
            caller.more_body = False
        if self._answering is None:
            self._start(caller, attend)
        else:
            self._stop_reading()
            self._waiting.append((caller, attend))

    def said(self, data: bytes) -> None:
        caller = self._reading
        if caller is None or caller.is_over:
            return
        caller.parts.append(data)
        caller.body_bytes += len(data)
        if caller.woken is not None:
            caller.woken.set()
        if caller.body_bytes > AHEAD_BYTES:
            self._stop_reading()

    def ended(self) -> None:
        caller, self._reading = self._reading, None
        if caller is not None:
            caller.more_body = False
            if caller.woken is not None:
                caller.woken.set()
        if self._answering is None:
            self._rests = True
            self._deadline.within(REST_S)

    # An answer: who gives it, and what comes after it

    def _attend_by(self, caller: Caller) -> Attend:
        """Raises `httptools.HttpParserError` for a target that is none."""
        if self._is_crowd:
            return turn_away
        head = caller.head
        if head.method == b"POST" and "origin" not in head.headers:
            known = self.endpoints.get(head.target) or self.endpoints.get(head.path)
            if known is not None:
                return known
        return Asgi(self._app, caller, self.transport).attend

    def _start(self, caller: Caller, attend: Attend) -> None:
        self._answering = caller
        if self.is_full:
            caller.has_room = False
        caller.task = task = self.loop.create_task(attended(caller, attend, self._state.tasks))
        self._state.tasks.add(task)

    def answered(self) -> None:
        """Of a request that was answered before its body was whole, the rest is thrown away; not for ever."""
        self._answering = None
        self._state.total_requests += 1
        if self._parting is not None or self.transport.is_closing():
            return
        if self.is_deaf:
            self.listen()
        if self._waiting:
            self._start(*self._waiting.pop(0))
        elif not self._reader.awaits_head:
            self._deadline.within(self.limits.body_read_s)
        elif self._deadline.due == NEVER:
            self._rests = True
            self._deadline.within(REST_S)

    def opening(self, status: int) -> bytes:
        openings, carried = self.openings, self._state.default_headers
        if openings.carried is not carried:
            openings.carry(carried)
        return openings[status]

    # What is no request

    def _unreadable(self) -> None:
        """What came is no HTTP. A whole request before it is still owed its answer, and is the last one here."""
        caller = self._answering
        if self._waiting:
            self._part(heard_out=False)
        elif caller is None:
            self._refuse(BadRequest("What came is not a request of HTTP/1.1."))
            self.close()
        elif self._reading is not None:
            if not caller.begun:
                self._refuse(BadRequest("The body is not framed as the head says."))
            self.close()
            caller.gone()
        else:
            caller.keep_alive = False

    def _late(self) -> None:
        """Who said nothing is told nothing. What follows a request, say the line end of an old client, may wait for its
        answer."""
        if self._parting is not None:
            self._parting.late()
        elif self._reader.awaits_head and self._answering is not None:
            self._deadline.within(self.limits.head_read_s)
        elif self._reader.awaits_head and self._reader.head_bytes:
            within = f"{self.limits.head_read_s:g} s"
            self._refuse(SlowRequest(f"The head of the request did not arrive within {within}."))
            self._part(heard_out=True, patience_bytes=self._most_of_head)
        else:
            self.close()

    def _refuse(self, error: RouterError) -> None:
        if self._parting is None and not self.transport.is_closing():
            target = self._reader.target if self._reading is None else self._reading.head.target
            self.transport.write(as_bytes(error, target))


def bounded_by(limits: Limits, endpoints: Endpoints = NO_ENDPOINTS) -> type[BoundedProtocol]:
    own = {"limits": limits, "endpoints": endpoints, "openings": Openings(), "__slots__": ()}
    return type("Bounded", (BoundedProtocol,), own)
