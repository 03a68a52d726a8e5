"""What a worker says to one reader: who it is, every block it holds, then changes and load. Values and bytes, no socket."""

from collections.abc import Iterator
from typing import Protocol, runtime_checkable

import msgspec

from backends import sse
from backends.engine.api import BLOCK_TOKENS, EngineLoad
from backends.engine.thread.feed import Place, Told
from backends.upstream import Load
from backends.worker.messages import HEARTBEAT_S, MAX_DIGESTS, MAX_WORDS, Blocks, EventName, WorkerIs, WorkerLoad


@runtime_checkable
class Worker(Protocol):
    """An engine that can tell what it holds."""

    revision: str

    @property
    def generation(self) -> str: ...

    def residency_after(self, place: Place | None) -> Told | None: ...

    def engine_load(self) -> EngineLoad: ...

    def load(self) -> Load: ...


class Voice:
    """One reader's share. Keeps a place in the worker's feed and nothing else, so any number of readers cost nothing."""

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._place: Place | None = None
        self._told: WorkerLoad | None = None
        self._told_at = 0.0

    def news(self, now: float, why_not: str = "") -> Iterator[bytes]:
        """Events since the last call, each of bounded size; load also when nothing changed for HEARTBEAT_S.

        `now` in seconds; `why_not` is why the process takes no work, whatever its engine says.
        """
        told = self._worker.residency_after(self._place)
        if told is not None:
            yield from self._residency(told)
        load = load_of(self._worker, why_not)
        if load != self._told or now - self._told_at >= HEARTBEAT_S:
            self._told, self._told_at = load, now
            yield event("load", load)

    def _residency(self, told: Told) -> Iterator[bytes]:
        if self._place is None or self._place.generation != told.place.generation:
            yield event("worker", WorkerIs(told.place.generation, self._worker.revision, BLOCK_TOKENS))
        self._place = told.place
        for blocks in frames(told):
            yield event("blocks", blocks)


def frames(told: Told) -> Iterator[Blocks]:
    """What is told at once, in events of at most MAX_DIGESTS digests."""
    words = [(digest, True) for digest in told.stored] + [(digest, False) for digest in told.removed]
    for start in range(0, len(words) or 1, MAX_DIGESTS):
        part = words[start : start + MAX_DIGESTS]
        yield Blocks(
            sequence=told.place.sequence,
            stored=tuple(digest for digest, is_stored in part if is_stored),
            removed=tuple(digest for digest, is_stored in part if not is_stored),
            cleared=told.is_whole and start == 0,
            more=start + MAX_DIGESTS < len(words),
        )


def load_of(worker: Worker, why_not: str = "") -> WorkerLoad:
    engine, load = worker.engine_load(), worker.load()
    return WorkerLoad(
        generation=worker.generation,
        ready=load.ready and not why_not,
        why_not=(why_not or load.why_not)[:MAX_WORDS],
        waiting=engine.waiting,
        running=engine.running,
        queued_tokens=engine.queued_tokens,
        active_tokens=engine.active_tokens,
        free_blocks=engine.free_blocks,
        total_blocks=engine.total_blocks,
    )


def event(name: EventName, message: msgspec.Struct) -> bytes:
    return sse.encode(msgspec.json.encode(message), name.encode())
