"""Which core is whose: the one who answers has a core of its own, who asks and the upstream share the other (Linux)."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Cores:
    """Processes that are started inside `answering` or `asking` stay on that core."""

    answers: int
    asks: int

    @contextmanager
    def answering(self) -> Iterator[None]:
        with pinned(self.answers):
            yield

    @contextmanager
    def asking(self) -> Iterator[None]:
        with pinned(self.asks):
            yield


def two_cores() -> Cores:
    """The last two that this process may use; raises RuntimeError where there is one alone."""
    usable = sorted(os.sched_getaffinity(0))
    if len(usable) < 2:
        raise RuntimeError("two cores are needed: one for who answers, one for who asks")
    return Cores(answers=usable[-1], asks=usable[-2])


@contextmanager
def pinned(core: int) -> Iterator[None]:
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {core})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
