"""One shared store as a process uses it: asked in bounded time, left alone while it fails, and used again when it is well.

All that is shared goes over one connection and one circuit: who finds out that the store is away tells all others.
"""

import asyncio
import logging
import math
import time
from collections.abc import Awaitable, Callable, Coroutine
from typing import TypeVar

from redis.exceptions import (
    AskError,
    ClusterDownError,
    MasterDownError,
    MovedError,
    ReadOnlyError,
    RedisError,
    ResponseError,
)

from gateway.state.circuit import Circuit
from gateway.state.lane import Lane
from gateway.state.link import DEADLINE_S, open_link

_log = logging.getLogger(__name__)

T = TypeVar("T")

QUIET_S = 60.0
"""Between two warnings."""

MAX_PENDING = 128
"""Exchanges under way; beyond it nobody waits for another one."""

MOVED = (ReadOnlyError, MovedError, AskError, ClusterDownError, MasterDownError)
"""What a server says that is not, or not any more, the one that takes our writes."""


class Store:
    """A request waits for an exchange at most `wait_s`. Each runs in a task of its own, which a request that goes away does
    not cancel. After failures in three waits on end the store is not asked until a probe, which no request waits for, was
    answered within `wait_s`.

    `namespace` becomes the hash tag of all keys: they are in one slot of a cluster. `monotonic` counts seconds.
    """

    def __init__(
        self,
        url: str,
        *,
        wait_s: float = 0.005,
        namespace: str = "turnout",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.lane = Lane(open_link(url, namespace))
        self.tag = f"{{{namespace}}}"
        self.why_away = "not asked yet"
        self._wait_s = wait_s
        self._circuit = Circuit(monotonic, wait_s)
        self._pending: set[asyncio.Task[object]] = set()
        self._debts: list[Callable[[], Awaitable[None]]] = []
        self._monotonic = monotonic
        self._quiet_until = -math.inf
        self._has_complained = False

    @property
    def is_asked(self) -> bool:
        """False while this process answers alone; then `why_away` says why."""
        return self._circuit.is_closed

    async def connect(self) -> bool:
        """Try now, for DEADLINE_S at most, so that the first request finds an open connection."""
        self._circuit.open()
        return await self._probe()

    def when_back(self, pay: Callable[[], Awaitable[None]]) -> None:
        """`pay` is called whenever the store answers again, before it is asked by others. Raises what Redis raises."""
        self._debts.append(pay)

    def leave(self) -> None:
        """Don't ask until a probe says that all is well."""
        self._circuit.open()

    async def ask(self, work: Callable[[], Coroutine[None, None, T]]) -> T | None:
        """The result, or None when the store is away, late or wrong."""
        task = self._exchange(work)
        if task is None:
            return None
        await asyncio.wait({task}, timeout=self._wait_s)
        return self._judge(task)

    async def tell(self, work: Callable[[], Coroutine[None, None, T]]) -> None:
        """As `ask`, but late is no failure: what is told may take the server longer than a request waits."""
        task = self.post(work)
        if task is not None:
            await asyncio.wait({task}, timeout=self._wait_s)

    def post(self, work: Callable[[], Coroutine[None, None, T]]) -> "asyncio.Task[T] | None":
        """Begun, and judged when it ends; None when the store is away."""
        began, task = self._monotonic(), self._exchange(work)
        if task is not None:
            task.add_done_callback(lambda ended: self._judge(ended, began))
        return task

    async def finish(self, work: Callable[[], Coroutine[None, None, T]]) -> T | None:
        """As `ask`, for what no request waits for: it may take its time."""
        began, task = self._monotonic(), self._exchange(work)
        if task is None:
            return None
        await asyncio.wait({task})
        return self._judge(task, began)

    async def aclose(self) -> None:
        for task in self._pending:
            task.cancel()
        await asyncio.gather(*self._pending, return_exceptions=True)
        await self.lane.aclose()

    def _exchange(self, work: Callable[[], Coroutine[None, None, T]]) -> "asyncio.Task[T] | None":
        if not self._circuit.is_closed:
            self._probe_if_due()
            return None
        if len(self._pending) >= MAX_PENDING:
            return None
        return self._start(work(), "store-exchange")

    def _judge(self, task: "asyncio.Task[T]", began: float = math.inf) -> T | None:
        """An answer that nobody waited for and that came late says nothing of whether those who wait are answered in time."""
        why = _failure(task)
        if why is None:
            if self._monotonic() - began <= self._wait_s:
                self._circuit.succeeded()
            return task.result()
        if _has_moved(task):
            self._circuit.open()
        elif not _was_refused(task):
            self._circuit.failed()
        if _was_refused(task) or not self._circuit.is_closed:
            self._complain(why)
        return None

    def _complain(self, why: str) -> None:
        """Once a minute at most, whatever the reason and however often the store comes and goes."""
        self.why_away = why
        if self._monotonic() >= self._quiet_until:
            self._quiet_until = self._monotonic() + QUIET_S
            self._has_complained = True
            _log.warning("Redis fails, this process answers from what it knows: %s", why)

    def _rejoice(self) -> None:
        self.why_away = ""
        if self._has_complained:
            self._has_complained = False
            _log.info("Redis answers again")

    def _probe_if_due(self) -> None:
        if self._circuit.take_probe():
            self._start(self._probe(), "store-probe")

    async def _probe(self) -> bool:
        """Open a connection, then see whether an answer over it comes in time, then pay what is owed."""
        well = False
        try:
            async with asyncio.timeout(DEADLINE_S):
                await self._reconnect()
                async with asyncio.timeout(self._wait_s):
                    await self.lane.ask("PING")
                for pay in self._debts:
                    await pay()
            well = True
            self._rejoice()
        except (RedisError, OSError) as error:  # TimeoutError is an OSError
            self._complain(f"{type(error).__name__}: {error}")
        finally:
            self._circuit.probe_ended(well)
        return well

    async def _reconnect(self) -> None:
        """Over a fresh connection, and to a server that takes writes: after a failover the old one answers, but does not.

        Any other refusal of the write is let pass: a server without memory still tells what it knows.
        """
        await self.lane.drop_connection()
        try:
            await self.lane.ask("SET", f"{self.tag}:trial", 1, "PX", 1_000)
        except MOVED:
            raise
        except ResponseError:
            pass

    def _start(self, work: Coroutine[None, None, T], name: str) -> "asyncio.Task[T]":
        task = asyncio.create_task(work, name=name)
        self._pending.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: "asyncio.Task[T]") -> None:
        self._pending.discard(task)
        if not task.cancelled():
            task.exception()  # read, so that a late failure is not reported as lost


def _failure(task: "asyncio.Task[T]") -> str | None:
    """Why the exchange gave nothing, or None when it did. What is shared is advice, so no failure of it is a request's."""
    if not task.done():
        return "no answer in time"
    if task.cancelled():
        return "given up"
    error = task.exception()
    return None if error is None else f"{type(error).__name__}: {error}"


def _was_refused(task: "asyncio.Task[T]") -> bool:
    """The server is there and said no (out of memory, no permission). That costs no request any time."""
    return task.done() and not task.cancelled() and isinstance(task.exception(), ResponseError)


def _has_moved(task: "asyncio.Task[T]") -> bool:
    """Another server takes the writes, and fresh connections may find it."""
    return task.done() and not task.cancelled() and isinstance(task.exception(), MOVED)
