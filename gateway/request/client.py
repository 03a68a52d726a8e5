"""Who asked, on the connection they asked on: what they ask, whether they are still there, and what they are told.

ASGI has an event and an await for each of these; the hot path has a call. Everything else in the gateway speaks ASGI.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol, cast

from gateway.request.head import Head
from gateway.request.ingress import AsgiEvent, Scope

CLIENT = "turnout.client"
"""The name of the client among the extensions of an ASGI scope."""


class Client(Protocol):
    """One request of a client. What is said to one who left goes nowhere."""

    @property
    def whole_body(self) -> bytes | None:
        """The body, if all of it is here."""
        ...

    @property
    def begun(self) -> bool:
        """The head of the answer has left, or leaves with the first of it."""
        ...

    @property
    def has_room(self) -> bool:
        """False while the client reads more slowly than it is written to."""
        ...

    async def room(self) -> None:
        """Wait until it has, or has left."""
        ...

    def answer(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        """All of it, in one piece."""
        ...

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of an answer of unknown length; it leaves with the first of it."""
        ...

    def write(self, data: bytes, *, more: bool = True) -> None:
        """The next of it, at once; with `more` False the last."""
        ...

    def carries(self, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """Every answer to it has these headers, too."""
        ...


class Asker(Client, Protocol):
    """A client at the door, with the head of its request."""

    @property
    def head(self) -> Head: ...

    @property
    def left(self) -> bool:
        """It left while it was watched."""
        ...

    def watch(self) -> None:
        """From here on the task that answers it is cancelled when it leaves before its answer is whole, now if it has. Whoever
        says so calls `unwatch` when that task has cleaned up."""
        ...

    def unwatch(self) -> None:
        """Raises Left where it did."""
        ...

    async def receive(self) -> AsgiEvent:
        """The next of the body, or that the client left, as ASGI says it."""
        ...


def client_of(scope: Scope) -> Asker:
    return cast(Asker, scope["extensions"][CLIENT])
