"""The prefix index inside Redis: three scripts over hash-tagged keys, each one round trip. Raises what Redis raises."""

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gateway.state.lane import Lane, Script, Word
from gateway.state.residency import MARK_BYTES, MAX_HOLDERS, MAX_TTL_S, MOST_BLOCKS, NO_MARKS, Prompt, Work

SCRIPTS = Path(__file__).parent / "scripts"

SLICE = 128
"""Blocks that one call learns."""


class Found(msgspec.Struct, frozen=True):
    """Of one prompt, by replica. A generation is "" until the replica is first forgotten."""

    depths: Mapping[str, int]
    generations: Mapping[str, str]
    marks: Mapping[str, bytes]
    others: Mapping[str, Work]
    alike: Mapping[str, int]


class RedisIndex:
    """Records end by the server's own clock, so gateways need not agree on the time; by `clock`, in seconds, where there is
    one. `tag` is the hash tag: all keys of one index are in one slot of a cluster. `me` is the gateway whose own work is not
    counted as others'.
    """

    def __init__(
        self, lane: Lane, *, max_blocks: int, tag: str, me: str = "", clock: Callable[[], float] | None = None
    ) -> None:
        self._lane = lane
        self._max_blocks = max_blocks
        self._clock = clock
        self._me = me
        tag = f"{tag}:residency:"
        self._generations, self._blocks = tag + "g:", tag + "b:"
        self._order, self._counter, self._work = tag + "lru", tag + "seq", tag + "work:"
        self._held, self._learn, self._forget = (
            Script(SCRIPTS / f"{verb}.lua") for verb in ("held", "learn", "forget")
        )

    @property
    def work_prefix(self) -> str:
        """Of the keys that hold what gateways gave each replica to do."""
        return self._work

    async def held(self, prompts: Sequence[Prompt]) -> list[Found]:
        """Needs at least one prompt with a replica."""
        size = next((len(prompt.blocks[0]) for prompt in prompts if prompt.blocks), 1)
        args: list[Word] = [self._now_ms(), self._me, size]
        for prompt in prompts:
            marks_from = -1 if prompt.marks_from is None else prompt.marks_from
            args += [b"".join(prompt.blocks[:MOST_BLOCKS]), marks_from, len(prompt.replicas), *prompt.replicas]
        answer: list[Any] = await self._lane.run(self._held, [self._generations, self._blocks, self._work], args)
        rows = zip(answer[0::5], answer[1::5], answer[2::5], answer[3::5], answer[4::5], strict=True)
        return [_found(prompt.replicas, rows) for prompt in prompts]

    async def learn(self, replica: str, blocks: Sequence[bytes], ttl_s: float, marks: bytes = NO_MARKS) -> None:
        """Slice by slice, deepest first, so that no single call holds up the server for more than about 1 ms."""
        ttl_ms, blocks = round(min(ttl_s, MAX_TTL_S) * 1_000), blocks[:MOST_BLOCKS]
        keys = [self._generations, self._blocks, self._order, self._counter]
        for end in range(len(blocks), 0, -SLICE):
            start = max(0, end - SLICE)
            part = blocks[start:end]
            told = marks[start * MARK_BYTES : end * MARK_BYTES]
            what: tuple[Word, ...] = (self._now_ms(), len(part[0]), b"".join(part), replica, ttl_ms)
            await self._lane.run(self._learn, keys, [*what, *self._bounds(), told], labour=len(part))

    async def forget(self, replica: str) -> str:
        """The replica's new generation."""
        generation = secrets.token_hex(12)
        await self._lane.run(self._forget, [self._generations], [replica, generation, round(MAX_TTL_S * 1_000)])
        return generation

    def _now_ms(self) -> Word:
        """Nothing stands for the server's own clock."""
        return "" if self._clock is None else round(self._clock() * 1_000)

    def _bounds(self) -> tuple[int, int, int]:
        return round(MAX_TTL_S * 1_000), self._max_blocks, MAX_HOLDERS


def _found(replicas: Sequence[str], rows: Iterator[tuple[int, bytes, bytes, bytes, int]]) -> Found:
    """The next row for each replica."""
    told = {replica: next(rows) for replica in replicas}
    return Found(
        depths={replica: int(depth) for replica, (depth, _, _, _, _) in told.items()},
        generations={replica: generation.decode() for replica, (_, generation, _, _, _) in told.items()},
        marks={replica: marks for replica, (_, _, marks, _, _) in told.items() if marks},
        others={replica: _work(work) for replica, (_, _, _, work, _) in told.items()},
        alike={replica: int(alike) for replica, (_, _, _, _, alike) in told.items() if alike},
    )


def _work(told: bytes) -> Work:
    running, queued, active = map(int, told.split(b":"))
    return Work(running, queued, active)
