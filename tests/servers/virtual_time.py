"""An event loop whose clock moves only when nobody has anything to do, straight to the next thing that is due."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any


class _Jumping(selectors.SelectSelector):
    """Waits for nothing: what would be slept is added to the clock."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0
        self.turn = 0
        self.due: dict[int, Callable[[], object]] = {}

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(0)
        self.turn += 1
        if self.turn in self.due:
            self.due.pop(self.turn)()
            return ready
        if not ready and timeout is None:
            raise RuntimeError("everybody waits, and nothing is due")
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jumping = _Jumping()
        super().__init__(self._jumping)

    def time(self) -> float:
        return self._jumping.now

    def stand_still(self, seconds: float) -> None:
        """As if what is called now took so long."""
        self._jumping.now += seconds

    def after_turns(self, turns: int, callback: Callable[[], object]) -> None:
        """Between two turns of the loop, before whoever is due in the next one gets it."""
        self._jumping.due[self._jumping.turn + turns] = callback


def run_virtual(coroutine: Coroutine[Any, Any, None]) -> None:
    """As `asyncio.run`, in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(coroutine)
