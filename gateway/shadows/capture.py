"""What the primary said, kept as it came while it is under way; it is read when nobody waits for it any more."""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol

from backends.messages import Delta, Event, ToolCall, Whole, Wire
from gateway.request.escalate.listen import Listener
from policies.escalate.said import Said

MOST_BYTES = 1 << 20
"""Of an answer that is compared; a longer one is not."""

AT_ONCE = 4
"""Events that are read before others have their turn."""


class Ear(Protocol):
    """Hears the answer of a request; several attempts may begin one."""

    def forget(self) -> None: ...

    def hear(self, event: Event) -> None: ...


class Capture:
    """One answer. Hearing an event costs an append."""

    __slots__ = ("_bytes", "events")

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        self.events: list[Event] = []
        self._bytes = 0

    def hear(self, event: Event) -> None:
        self._bytes += size_of(event)
        if self.is_all:
            self.events.append(event)
        elif self.events:
            self.events = []

    @property
    def is_all(self) -> bool:
        return self._bytes <= MOST_BYTES


class Ears:
    """Several that hear the same."""

    __slots__ = ("_all",)

    def __init__(self, ears: Sequence[Ear]) -> None:
        self._all = ears

    def forget(self) -> None:
        for ear in self._all:
            ear.forget()

    def hear(self, event: Event) -> None:
        for ear in self._all:
            ear.hear(event)


def joined(*ears: Ear | None) -> Ear | None:
    """None where nobody listens."""
    present = [ear for ear in ears if ear is not None]
    return present[0] if len(present) == 1 else Ears(present) if present else None


def size_of(event: Event) -> int:
    if isinstance(event, Wire):
        return len(event.data)
    if isinstance(event, Whole):
        return len(event.body)
    if isinstance(event, Delta):
        return len(event.text)
    return len(event.arguments) if isinstance(event, ToolCall) else 0


async def said_in(events: Iterable[Event]) -> Said:
    """The answer, read a little at a time: requests have their turn in between."""
    listener = Listener()
    for number, event in enumerate(events, start=1):
        listener.hear(event)
        if number % AT_ONCE == 0:
            await asyncio.sleep(0)
    return listener.said()
