"""Orders to the engine's thread: submit and cancel, in order, from any thread. Where the idle engine sleeps."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from threading import Condition

from backends.engine.api import Job, Output
from backends.upstream import GIVES_WAY

Deliver = Callable[[Output], None]


@dataclass(slots=True, frozen=True)
class Submit:
    job_id: int
    job: Job


@dataclass(slots=True, frozen=True)
class Cancel:
    job_id: int


Order = Submit | Cancel


class Inbox:
    """A queue bounded by the number of jobs that have not ended: each gives one Submit and at most one Cancel.

    `jobs` maps the jobs that have not ended to where their Outputs go.
    """

    def __init__(self, max_jobs: int) -> None:
        self._max_jobs = max_jobs
        self._changed = Condition()
        self._orders: deque[Order] = deque()
        self._cancelled: set[int] = set()
        self._jobs: dict[int, Deliver] = {}
        self._last_id = 0
        self._is_closed = False

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def submit(self, job: Job, deliver: Deliver) -> int | None:
        """The new job's id, or None when the house is full or closed."""
        with self._changed:
            if self._is_closed or len(self._jobs) >= self._max_jobs:
                return None
            self._last_id += 1
            self._jobs[self._last_id] = deliver
            self._orders.append(Submit(self._last_id, job))
            self._changed.notify()
            return self._last_id

    def cancel(self, job_id: int) -> None:
        with self._changed:
            if job_id in self._jobs and job_id not in self._cancelled:
                self._cancelled.add(job_id)
                self._orders.append(Cancel(job_id))
                self._changed.notify()

    def deliver_to(self, job_id: int) -> Deliver | None:
        return self._jobs.get(job_id)

    def end(self, job_id: int) -> None:
        """The job has had its last Output."""
        with self._changed:
            self._jobs.pop(job_id, None)
            self._cancelled.discard(job_id)

    def take(self, *, wait: bool) -> list[Order]:
        """All orders; with `wait` sleeps until there is one or the inbox is closed."""
        with self._changed:
            if wait:
                self._changed.wait_for(lambda: self._orders or self._is_closed)
            orders = list(self._orders)
            self._orders.clear()
            return orders

    def abandon(self) -> list[int]:
        """Drop all orders and name the jobs that have not ended."""
        with self._changed:
            self._orders.clear()
            return list(self._jobs)

    def queued(self) -> tuple[int, int]:
        """Jobs not yet taken, and their prompt tokens; but for those that give way to all others."""
        with self._changed:
            jobs = [order.job for order in self._orders if isinstance(order, Submit)]
        prompts = [len(job.prompt) for job in jobs if job.priority < GIVES_WAY]
        return len(prompts), sum(prompts)

    def pause(self, seconds: float) -> None:
        """Sleep, unless the inbox is closed meanwhile."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_closed, timeout=seconds)

    def close(self) -> None:
        with self._changed:
            self._is_closed = True
            self._changed.notify_all()
