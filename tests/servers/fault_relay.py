"""A relay before a server that can be told to misbehave: hang, be slow, refuse, cut a reply in half, talk nonsense."""

import asyncio
import contextlib
import socket
import struct
from collections.abc import AsyncIterator
from typing import Literal

Fault = Literal["none", "hang", "slow", "refuse", "half", "nonsense"]

DELAY_S = 0.05
NONSENSE = b"!not a reply\r\n$99999999\r\n"


class FaultRelay:
    """Relays to a port on loopback. What `fault` says holds for all connections, those that are open already too."""

    def __init__(self, to_port: int) -> None:
        self.fault: Fault = "none"
        self.port = 0
        self._to_port = to_port
        self._server: asyncio.Server | None = None
        self._open: set[asyncio.StreamWriter] = set()

    async def begin(self, fault: Fault) -> None:
        """From here on. `refuse` also resets what is open."""
        self.fault = fault
        if fault == "refuse":
            await self.stop()
            for writer in tuple(self._open):
                reset(writer)

    async def end(self) -> None:
        """All is well again, for new connections at least."""
        was, self.fault = self.fault, "none"
        if was == "refuse":
            await self.start()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._relay, "127.0.0.1", self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        if self._server is not None:
            self._server.close()
            self._server = None

    async def _relay(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            there, to = await asyncio.open_connection("127.0.0.1", self._to_port)
        except OSError:
            reset(writer)
            return
        with contextlib.suppress(OSError, ExceptionGroup, asyncio.CancelledError):
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._copy(reader, to, replies=False))
                tasks.create_task(self._copy(there, writer, replies=True))
        self._open.discard(writer)
        for each in (writer, to):
            each.close()

    async def _copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, replies: bool) -> None:
        while data := await reader.read(65_536):
            match self.fault:
                case "hang":
                    await asyncio.Event().wait()
                case "slow":
                    await asyncio.sleep(DELAY_S)
                case "half" if replies:
                    writer.write(data[: len(data) // 2])
                    await writer.drain()
                    reset(writer)
                    return
                case "nonsense" if replies:
                    data = NONSENSE
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError


def reset(writer: asyncio.StreamWriter) -> None:
    """Close with a reset, as a machine does that lost its state."""
    plain = writer.get_extra_info("socket")
    with contextlib.suppress(OSError):
        plain.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


@contextlib.asynccontextmanager
async def fault_relay(to_port: int) -> AsyncIterator[FaultRelay]:
    relay = FaultRelay(to_port)
    await relay.start()
    yield relay
    await relay.stop()
    for writer in tuple(relay._open):
        reset(writer)
