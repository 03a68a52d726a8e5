"""How much goes over a connection at once, in both directions: nobody is read faster than they are answered, nor written to
faster than they read."""

import asyncio

from gateway.connection.caller import Caller


class Flow(asyncio.Protocol):
    """`is_full`: more was written than the client has read, which whoever is being answered knows, too. `is_deaf`: nothing is
    read until somebody wants it. Whoever has a transport sets it before anything is heard or said."""

    __slots__ = ("_answering", "_has_room", "is_deaf", "is_full", "transport")

    transport: asyncio.Transport

    def __init__(self) -> None:
        self._answering: Caller | None = None
        self._has_room: asyncio.Event | None = None
        self.is_deaf = self.is_full = False

    def pause_writing(self) -> None:
        self.is_full, self._has_room = True, asyncio.Event()
        if self._answering is not None:
            self._answering.has_room = False

    def resume_writing(self) -> None:
        self.is_full = False
        if self._answering is not None:
            self._answering.has_room = True
        if self._has_room is not None:
            self._has_room.set()

    async def room(self) -> None:
        if self.is_full and self._has_room is not None:
            await self._has_room.wait()

    def listen(self) -> None:
        if self.is_deaf:
            self.is_deaf = False
            self.transport.resume_reading()

    def _stop_reading(self) -> None:
        if not self.is_deaf:
            self.is_deaf = True
            self.transport.pause_reading()
