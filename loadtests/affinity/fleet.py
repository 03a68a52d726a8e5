"""A trace through a fleet under one way of choosing, by a virtual clock."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from loadtests.affinity.replica import Job, Replica
from loadtests.affinity.traces import Arrival, Trace

LONG_S = 1e6
"""After the last arrival; by then every answer has ended."""


@dataclass(slots=True)
class Load:
    """What a router counted of one replica at the moment of choice: requests that are not finished, and prompt tokens of
    those that have no first token, as it believed them to be uncached."""

    running: int = 0
    queued_tokens: int = 0


@dataclass(slots=True)
class Fleet:
    """What every way of choosing may look at. `now` is the virtual clock, in seconds."""

    names: tuple[str, ...]
    loads: dict[str, Load] = field(default_factory=dict)
    now: float = 0.0

    def least_loaded(self) -> str:
        return min(self.names, key=lambda name: (self.loads[name].running, self.names.index(name)))


class Chooser(Protocol):
    """One way of choosing. It learns what a router learns, and nothing else."""

    def choose(self, arrival: Arrival) -> tuple[str, int]:
        """The replica, and how many tokens of the prompt are believed to be uncached there."""
        ...

    def answered(self, job: Job) -> None:
        """The first token is here, and so is what the server says of cached tokens."""
        ...

    def ended(self, job: Job) -> None:
        """The answer is whole."""
        ...

    def lost(self, replica: str) -> None:
        """Connections to the replica broke."""
        ...


Choosing = Callable[[Fleet], Chooser]


@dataclass(frozen=True, slots=True)
class Pool:
    """Replicas by their speed, each with a cache of `cache_blocks`; every `restart_every_s` the next one restarts."""

    speeds: tuple[float, ...]
    cache_blocks: int
    restart_every_s: float = 0.0


@dataclass(frozen=True, slots=True)
class Run:
    """What came of it: every job with its time to first token, seconds of work by replica."""

    jobs: Sequence[Job]
    work_s: Sequence[float]


def drive(trace: Trace, pool: Pool, choosing: Choosing) -> Run:
    """Every arrival is put on a replica; arrivals do not wait for answers."""
    return _Drive(pool, choosing).through(trace)


class _Drive:
    def __init__(self, pool: Pool, choosing: Choosing) -> None:
        self._pool = pool
        names = tuple(f"http://r{i}" for i in range(len(pool.speeds)))
        self._replicas = {
            name: Replica(name, cache_blocks=pool.cache_blocks, speed=speed)
            for name, speed in zip(names, pool.speeds, strict=True)
        }
        self._fleet = Fleet(names, {name: Load() for name in names})
        self._chooser = choosing(self._fleet)
        self._jobs: list[Job] = []

    def through(self, trace: Trace) -> Run:
        restarts = self._restarts()
        next_at, who = next(restarts)
        for arrival in trace:
            while next_at <= arrival.at_s:
                self._restart(next_at, who)
                next_at, who = next(restarts)
            self._move_to(arrival.at_s)
            self._send(Job(arrival, 0))
        self._move_to(trace[-1].at_s + LONG_S)
        return Run(self._jobs, [replica.work_s for replica in self._replicas.values()])

    def _restarts(self) -> Iterator[tuple[float, str]]:
        every, at = self._pool.restart_every_s, 0.0
        while every:
            for name in self._fleet.names:
                at += every
                yield at, name
        yield float("inf"), ""

    def _move_to(self, now: float) -> None:
        """Each word is heard when it is said; a step under way has more to say when it ends."""
        said = list[tuple[float, bool, Job]]()
        for replica in self._replicas.values():
            replica.advance(now)
            while replica.prefilled and replica.prefilled[0].first_token_at <= now:
                job = replica.prefilled.popleft()
                said.append((job.first_token_at, False, job))
            while replica.ended and replica.ended[0].ended_at <= now:
                job = replica.ended.popleft()
                said.append((job.ended_at, True, job))
        for self._fleet.now, is_end, job in sorted(said, key=lambda one: one[:2]):
            self._ended(job) if is_end else self._answered(job)
        self._fleet.now = now

    def _answered(self, job: Job) -> None:
        load = self._fleet.loads[job.replica]
        load.queued_tokens -= job.uncached
        self._chooser.answered(job)
        self._jobs.append(job)

    def _ended(self, job: Job) -> None:
        self._fleet.loads[job.replica].running -= 1
        self._chooser.ended(job)

    def _send(self, job: Job) -> None:
        name, job.uncached = self._chooser.choose(job.arrival)
        load = self._fleet.loads[name]
        load.running += 1
        load.queued_tokens += job.uncached
        self._replicas[name].submit(job, self._fleet.now)

    def _restart(self, at: float, name: str) -> None:
        self._move_to(at)
        lost = self._replicas[name].crash(at)
        self._fleet.loads[name] = Load()
        self._chooser.lost(name)
        for job in lost:
            self._send(Job(job.arrival, 0))
