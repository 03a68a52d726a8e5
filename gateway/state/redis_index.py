"""The prefix index inside Redis: three scripts over hash-tagged keys, each one round trip. Raises what Redis raises."""

import secrets
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from redis.asyncio import Redis
from redis.exceptions import ReadOnlyError, ResponseError

from gateway.state.lane import Lane, Script
from gateway.state.residency import MAX_HOLDERS, MAX_TTL_S

SCRIPTS = Path(__file__).parent / "scripts"

SLICE = 256
"""Blocks that one call learns."""


class Found(msgspec.Struct, frozen=True):
    """Depths and generations by replica. A generation is "" until the replica is first forgotten."""

    depths: Mapping[str, int]
    generations: Mapping[str, str]


class RedisIndex:
    """`clock` counts seconds since the epoch and is what records' ends are measured by; gateways' clocks may differ by
    little against the TTLs. `namespace` becomes the hash tag: all keys of one index are in one slot of a cluster.
    """

    def __init__(self, client: Redis, *, max_blocks: int, clock: Callable[[], float], namespace: str) -> None:
        self._lane = Lane(client)
        self._max_blocks = max_blocks
        self._clock = clock
        tag = f"{{{namespace}}}:residency:"
        self._generations, self._blocks = tag + "g:", tag + "b:"
        self._order, self._counter, self._trial = tag + "lru", tag + "seq", tag + "trial"
        self._held, self._learn, self._forget = (
            Script(SCRIPTS / f"{verb}.lua") for verb in ("held", "learn", "forget")
        )

    async def held(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> Found:
        """Needs at least one block and one replica."""
        keys = [self._generations, self._blocks]
        answer: list[Any] = await self._lane.run(self._held, keys, [self._now_ms(), *_joined(blocks), *replicas])
        return Found(
            depths=dict(zip(replicas, map(int, answer[0::2]), strict=True)),
            generations=dict(zip(replicas, (generation.decode() for generation in answer[1::2]), strict=True)),
        )

    async def learn(self, replica: str, blocks: Sequence[bytes], ttl_s: float) -> None:
        """Slice by slice, deepest first, so that no single call holds up the server for more than about 1 ms."""
        ttl_ms = round(min(ttl_s, MAX_TTL_S) * 1_000)
        keys = [self._generations, self._blocks, self._order, self._counter]
        for end in range(len(blocks), 0, -SLICE):
            joined = _joined(blocks[max(0, end - SLICE) : end])
            await self._lane.run(self._learn, keys, [self._now_ms(), *joined, replica, ttl_ms, *self._bounds()])

    async def forget(self, replica: str) -> str:
        """The replica's new generation."""
        generation = f"{self._now_ms():x}{secrets.token_hex(4)}"
        await self._lane.run(self._forget, [self._generations], [replica, generation, round(MAX_TTL_S * 1_000)])
        return generation

    async def ping(self) -> None:
        await self._lane.ask("PING")

    async def reconnect(self) -> None:
        """Over a fresh connection, and to a server that takes writes: after a failover the old one answers, but does not.

        Any other refusal of the write is let pass: a server without memory still tells what it knows.
        """
        await self._lane.drop_connection()
        try:
            await self._lane.ask("SET", self._trial, 1, "PX", 1_000)
        except ReadOnlyError:
            raise
        except ResponseError:
            pass

    async def aclose(self) -> None:
        await self._lane.aclose()

    def _now_ms(self) -> int:
        return round(self._clock() * 1_000)

    def _bounds(self) -> tuple[int, int, int]:
        return round(MAX_TTL_S * 1_000), self._max_blocks, MAX_HOLDERS


def _joined(blocks: Sequence[bytes]) -> tuple[int, bytes]:
    """One argument for all digests: the server parses it once, and slices it by the size."""
    return len(blocks[0]), b"".join(blocks)
