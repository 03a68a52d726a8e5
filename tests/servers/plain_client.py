"""An HTTP client that can misbehave: half requests, hostile bytes, leaving at any moment."""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


def chat_body(stream: bool = False, text: str = "hi", model: str = "m") -> bytes:
    return json.dumps({"model": model, "messages": [{"role": "user", "content": text}], "stream": stream}).encode()


def head(
    length: int | None, extra: bytes = b"", host: bytes = b"localhost", path: bytes = b"/v1/chat/completions"
) -> bytes:
    framing = b"transfer-encoding: chunked" if length is None else b"content-length: %d" % length
    return b"POST %b HTTP/1.1\r\nhost: %b\r\n%b\r\n%b\r\n" % (path, host, framing, extra)


@dataclass
class Socket:
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def ask(self, body: bytes, extra: bytes = b"") -> None:
        await self.send(head(len(body), extra) + body)

    async def status(self) -> int:
        """The status of the next answer; what follows the status line is not read."""
        return int((await self.reader.readline()).split()[1])

    async def until(self, data: bytes) -> bytes:
        return await self.reader.readuntil(data)

    async def rest(self) -> bytes:
        """Everything until the gateway closes."""
        return await self.reader.read()

    def kill(self) -> None:
        self.writer.transport.abort()


@asynccontextmanager
async def connected(port: int) -> AsyncIterator[Socket]:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        yield Socket(reader, writer)
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
