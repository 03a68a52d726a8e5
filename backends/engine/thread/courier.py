"""Outputs from the engine's thread to event loops: one wake-up for all jobs of a step."""

import asyncio
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field

from backends.engine.api import Output


@dataclass(slots=True, eq=False)
class Mailbox:
    """Outputs of the jobs of one answer, read on `loop`. `arrived` is set when there is something new."""

    loop: asyncio.AbstractEventLoop
    outputs: deque[Output] = field(default_factory=deque)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)

    def put(self, outputs: list[Output]) -> None:
        self.outputs.extend(outputs)
        self.arrived.set()


class Courier:
    """`deliver_to` and `step_ended` are called on the engine's thread, mailboxes are filled on their own loop."""

    def __init__(self) -> None:
        self._bags: dict[asyncio.AbstractEventLoop, dict[Mailbox, list[Output]]] = {}

    def deliver_to(self, mailbox: Mailbox) -> Callable[[Output], None]:
        """The `deliver` of a job."""

        def deliver(output: Output) -> None:
            self._bags.setdefault(mailbox.loop, {}).setdefault(mailbox, []).append(output)

        return deliver

    def step_ended(self) -> None:
        """Send every loop its bag. A loop that was closed meanwhile has no readers left."""
        bags, self._bags = self._bags, {}
        for loop, bag in bags.items():
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(_hand_out, bag)


def _hand_out(bag: dict[Mailbox, list[Output]]) -> None:
    for mailbox, outputs in bag.items():
        mailbox.put(outputs)
