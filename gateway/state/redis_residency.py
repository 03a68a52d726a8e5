"""Prefix residency shared by all gateway processes, with a mirror in this one that answers whenever Redis does not."""

import asyncio
import logging
import math
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TypeVar

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import ReadOnlyError, RedisError, ResponseError

from gateway.state.circuit import Circuit
from gateway.state.lane import DEADLINE_S
from gateway.state.memory import MemoryResidency
from gateway.state.redis_index import Found, RedisIndex

_log = logging.getLogger(__name__)

T = TypeVar("T")

QUIET_S = 60.0
"""Between two warnings."""

MAX_PENDING = 128
"""Exchanges under way; beyond it the mirror answers."""


class RedisResidency:
    """Redis' answer and the mirror's, joined: a replica holds what either knows.

    A request waits for Redis at most `wait_s`. Each exchange runs in a task of its own, which a request that goes away
    does not cancel. After failures in three waits on end Redis is not asked until a probe, which no request waits for,
    was answered within `wait_s`.
    `clock` counts seconds since the epoch, `monotonic` never goes back.
    """

    def __init__(
        self,
        url: str,
        *,
        mirror: MemoryResidency,
        wait_s: float = 0.005,
        max_blocks: int = 1_000_000,
        namespace: str = "turnout",
        clock: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._index = RedisIndex(_client(url), max_blocks=max_blocks, clock=clock, namespace=namespace)
        self._mirror = mirror
        self._wait_s = wait_s
        self._circuit = Circuit(monotonic, wait_s)
        self._pending: set[asyncio.Task[object]] = set()
        self._generations: dict[str, str] = {}
        self._owed: set[str] = set()
        self._monotonic = monotonic
        self._quiet_until = -math.inf
        self._has_complained = False

    @property
    def is_shared(self) -> bool:
        """Whether Redis is being asked; False while the mirror answers alone."""
        return self._circuit.is_closed

    async def connect(self) -> bool:
        """Try Redis now, for DEADLINE_S at most, so that the first request finds an open connection."""
        self._circuit.open()
        return await self._probe()

    async def held(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> Mapping[str, int]:
        found: Found | None = None
        if blocks and replicas:
            found = await self._ask(lambda: self._index.held(blocks, replicas))
        if found is None:
            return self._mirror.held_now(blocks, replicas)
        await self._catch_up(found.generations)
        mirrored = self._mirror.held_now(blocks, replicas)
        return {replica: max(depth, mirrored[replica]) for replica, depth in found.depths.items()}

    async def learn(self, replica: str, blocks: Sequence[bytes], ttl_s: float) -> None:
        """A long prompt may take the server longer than a request waits; that alone is no failure."""
        self._mirror.learn_now(replica, blocks, ttl_s)
        task = self._exchange(lambda: self._index.learn(replica, blocks, ttl_s)) if blocks else None
        if task is not None:
            task.add_done_callback(self._judge)
            await asyncio.wait({task}, timeout=self._wait_s)

    async def forget(self, replica: str) -> None:
        """Also when Redis is away: the mirror forgets at once, and Redis is told before it is asked again."""
        await self._mirror.forget(replica)
        self._owed.add(replica)
        if await self._ask(lambda: self._pay(replica)) is None:
            self._circuit.open()

    async def aclose(self) -> None:
        for task in self._pending:
            task.cancel()
        await asyncio.gather(*self._pending, return_exceptions=True)
        await self._index.aclose()
        await self._mirror.aclose()

    async def _catch_up(self, generations: Mapping[str, str]) -> None:
        """Forget here what another process forgot. A generation that is gone was flushed, not forgotten."""
        for replica, generation in generations.items():
            if generation and generation != self._generations.get(replica, ""):
                self._generations[replica] = generation
                await self._mirror.forget(replica)

    async def _pay(self, replica: str) -> bool:
        self._generations[replica] = await self._index.forget(replica)
        self._owed.discard(replica)
        return True

    async def _ask(self, work: Callable[[], Coroutine[None, None, T]]) -> T | None:
        """The result, or None when Redis is away, late or wrong."""
        task = self._exchange(work)
        if task is None:
            return None
        await asyncio.wait({task}, timeout=self._wait_s)
        return self._judge(task)

    def _exchange(self, work: Callable[[], Coroutine[None, None, T]]) -> "asyncio.Task[T] | None":
        if not self._circuit.is_closed:
            self._probe_if_due()
            return None
        if len(self._pending) >= MAX_PENDING:
            return None
        return self._start(work(), "residency-exchange")

    def _judge(self, task: "asyncio.Task[T]") -> T | None:
        why = _failure(task)
        if why is None:
            self._circuit.succeeded()
            return task.result()
        if _is_demoted(task):
            self._circuit.open()
        elif not _was_refused(task):
            self._circuit.failed()
        if _was_refused(task) or not self._circuit.is_closed:
            self._complain(why)
        return None

    def _complain(self, why: str) -> None:
        """Once a minute at most, whatever the reason and however often Redis comes and goes."""
        if self._monotonic() >= self._quiet_until:
            self._quiet_until = self._monotonic() + QUIET_S
            self._has_complained = True
            _log.warning("Redis fails for prefix residency, this process answers from what it knows: %s", why)

    def _rejoice(self) -> None:
        if self._has_complained:
            self._has_complained = False
            _log.info("Redis answers for prefix residency again")

    def _probe_if_due(self) -> None:
        if self._circuit.take_probe():
            self._start(self._probe(), "residency-probe")

    async def _probe(self) -> bool:
        """Open a connection, then see whether an answer over it comes in time, then pay what is owed."""
        well = False
        try:
            async with asyncio.timeout(DEADLINE_S):
                await self._index.reconnect()
                async with asyncio.timeout(self._wait_s):
                    await self._index.ping()
                for replica in tuple(self._owed):
                    await self._pay(replica)
            well = True
            self._rejoice()
        except (RedisError, OSError) as error:  # TimeoutError is an OSError
            self._complain(f"{type(error).__name__}: {error}")
        finally:
            self._circuit.probe_ended(well)
        return well

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
    """Why the exchange gave nothing, or None when it did. Residency is advice, so no failure of it is a request's."""
    if not task.done():
        return "no answer in time"
    if task.cancelled():
        return "given up"
    error = task.exception()
    return None if error is None else f"{type(error).__name__}: {error}"


def _was_refused(task: "asyncio.Task[T]") -> bool:
    """The server is there and said no (out of memory, no permission). That costs no request any time."""
    return task.done() and not task.cancelled() and isinstance(task.exception(), ResponseError)


def _is_demoted(task: "asyncio.Task[T]") -> bool:
    """The server became a replica: another one takes the writes, and fresh connections may find it."""
    return task.done() and not task.cancelled() and isinstance(task.exception(), ReadOnlyError)


def _client(url: str) -> Redis:
    """Connects when first used. One try more covers a connection that the server closed while it lay idle."""
    return Redis.from_url(
        url,
        max_connections=2,
        socket_timeout=DEADLINE_S,
        socket_connect_timeout=DEADLINE_S,
        retry=Retry(NoBackoff(), 1),
        protocol=2,
    )
