"""Lines of log wait for each other, and are written together: a call of the system for each would cost more than all else that
is told of a request.

What waits is written however the process ends, if Python hears of it; a signal that kills at once loses what came within
LATEST_S.
"""

import asyncio
import weakref
from collections.abc import Callable

from gateway.request.settlement import Settlement
from gateway.telemetry.forks import in_child
from gateway.telemetry.logs import Over, RequestLog
from gateway.telemetry.piped import LinesLost

LATEST_S = 0.02
"""How late a line may be."""

MOST = 256
"""Lines that wait; the next one finds them written."""


class Gathered:
    """`lost` is told how many lines could not be written. Of one thread."""

    def __init__(self, log: RequestLog, lost: Callable[[int], object]) -> None:
        self._log = log
        self._lost = lost
        self._waiting: list[Over] = []
        self._closed = False
        self._at_end = weakref.finalize(self, write, log, self._waiting, lost)
        in_child(self._forget)

    def add(self, settlement: Settlement, trace_id: str, at_ns: int) -> None:
        """It was over at this instant, in nanoseconds of the wall clock."""
        waiting = self._waiting
        waiting.append((settlement, trace_id, at_ns))
        if len(waiting) == 1:
            self._begin()
        elif len(waiting) >= MOST:
            self.flush()

    def flush(self) -> None:
        write(self._log, self._waiting, self._lost)

    def close(self) -> None:
        """What waits is written, and so is whatever still comes, at once."""
        self._closed = True
        self.flush()

    def _begin(self) -> None:
        """Where no loop runs, nobody would come back to it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            self.flush()
            return
        if self._closed:
            self.flush()
        else:
            loop.call_later(LATEST_S, self.flush)

    def _forget(self) -> None:
        """In a process that was forked: what waits is its parent's."""
        self._waiting.clear()


def write(log: RequestLog, waiting: list[Over], lost: Callable[[int], object]) -> None:
    """A log whose reader is gone harms no request."""
    if not waiting:
        return
    over = waiting.copy()
    waiting.clear()
    try:
        log.write(over)
    except LinesLost as error:
        lost(error.lines)
    except ValueError:  # before anything was written: one has a text that is none (a surrogate), or nobody reads at all
        if failed := sum([not is_written(log, one) for one in over]):
            lost(failed)


def is_written(log: RequestLog, one: Over) -> bool:
    try:
        log.write([one])
    except (LinesLost, ValueError):
        return False
    return True
