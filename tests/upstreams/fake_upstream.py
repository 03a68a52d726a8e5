"""A scripted HTTP/1.1 server on a real loopback socket: it can stall, cut at any byte, reset, lie about lengths.

    async with fake_upstream(chat_stream("Hel", "lo")) as upstream:
        ...  # upstream.base is "http://127.0.0.1:PORT"; upstream.received lists what came in

A script is a `Reply`, or a function of the received request that returns one. With several scripts the first request
gets the first one and so on; the last one repeats.
"""

import asyncio
import json
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal


class Cut(Enum):
    """Ways to break a connection: a proper TCP end, or a reset."""

    EOF = "eof"
    RESET = "reset"


@dataclass(frozen=True)
class Pause:
    """Wait between two writes (the one place where real time is spent; keep it short)."""

    seconds: float


@dataclass(frozen=True)
class Until:
    """Wait until the test says so; `Until(asyncio.Event())` that is never set is a hang."""

    event: asyncio.Event


Step = bytes | Pause | Until | Cut


@dataclass(frozen=True)
class Reply:
    """One answer. `framing`: chunked; length (of all bytes); close (until EOF); raw (the steps are the whole wire)."""

    steps: tuple[Step, ...] = ()
    status: int = 200
    headers: tuple[tuple[str, str], ...] = (("content-type", "application/json"),)
    framing: Literal["chunked", "length", "close", "raw"] = "chunked"


@dataclass(eq=False)
class Received:
    """A request as it stood on the wire. `closed` is set when the client went away before the reply was over."""

    method: str
    path: str
    headers: list[tuple[str, str]]
    body: bytes
    closed: asyncio.Event = field(default_factory=asyncio.Event)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)


Script = Reply | Callable[[Received], Reply]


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def json_reply(value: object, status: int = 200, headers: Sequence[tuple[str, str]] = ()) -> Reply:
    return Reply((compact(value),), status, (("content-type", "application/json"), *headers), "length")


def sse_reply(*steps: Step) -> Reply:
    """The steps as an event stream, one flushed chunk for each write."""
    return Reply(steps, headers=(("content-type", "text/event-stream"),))


def event(data: object) -> bytes:
    """`data: ...` of a string as it is, of anything else as compact JSON."""
    return b"data: " + (data.encode() if isinstance(data, str) else compact(data)) + b"\n\n"


def chunk(**fields: object) -> bytes:
    """A Chat Completions chunk event; id, object, created and model are filled in."""
    head: dict[str, object] = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return event({**head, **fields})


def text_chunk(text: str, index: int = 0, finish: str | None = None, **delta: object) -> bytes:
    choice = {"index": index, "delta": {"content": text, **delta}, "finish_reason": finish}
    return chunk(choices=[choice])


def finish_chunk(reason: str = "stop", index: int = 0) -> bytes:
    return chunk(choices=[{"index": index, "delta": {}, "finish_reason": reason}])


def usage(prompt: int = 7, completion: int = 3) -> dict[str, int]:
    return {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion}


DONE = event("[DONE]")


def chat_stream(*texts: str, reason: str = "stop") -> Reply:
    """A whole streamed answer of these pieces, with its usage chunk."""
    pieces = [text_chunk(text) for text in texts]
    return sse_reply(*pieces, finish_chunk(reason), chunk(choices=[], usage=usage(7, len(texts))), DONE)


def chat_answer(text: str, reason: str = "stop") -> Reply:
    """A whole unstreamed answer."""
    message = {"role": "assistant", "content": text}
    choices = [{"index": 0, "message": message, "finish_reason": reason}]
    head = {"id": "c1", "object": "chat.completion", "created": 1, "model": "m"}
    return json_reply({**head, "choices": choices, "usage": usage()})


def chat_either(*texts: str) -> Callable[[Received], Reply]:
    """Streams when asked to, answers whole otherwise."""
    return lambda got: chat_stream(*texts) if got.json.get("stream") else chat_answer("".join(texts))


class FakeUpstream:
    """The server side. `open_connections` counts sockets that are still connected."""

    def __init__(self, scripts: Sequence[Script]) -> None:
        self.scripts = list(scripts)
        self.received: list[Received] = []
        self.connections = 0
        self.open_connections = 0
        self.base = ""
        self.changed = asyncio.Condition()
        self.tasks: set[asyncio.Task[None]] = set()

    @property
    def last(self) -> Received:
        return self.received[-1]

    async def until(self, condition: Callable[["FakeUpstream"], bool], within_s: float = 5.0) -> None:
        """Wait for something to become true here, say `lambda u: u.open_connections == 0`."""
        async with asyncio.timeout(within_s), self.changed:
            await self.changed.wait_for(lambda: condition(self))

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self.tasks.add(task)
        await self._count(+1)
        try:
            early: bytes | None = b""
            while early is not None:
                early = await self._exchange(early, reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.tasks.discard(task)
            writer.close()
            await asyncio.shield(self._count(-1))

    async def _count(self, change: int) -> None:
        async with self.changed:
            self.connections += max(change, 0)
            self.open_connections += change
            self.changed.notify_all()

    async def _exchange(self, early: bytes, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes | None:
        """One request and its reply. What came in `early` of the next request is returned; None ends the connection."""
        got = await read_request(early, reader)
        async with self.changed:
            self.received.append(got)
            self.changed.notify_all()
        script = self.scripts.pop(0) if len(self.scripts) > 1 else self.scripts[0]
        reply = script if isinstance(script, Reply) else script(got)
        return await self._play(reply, got, reader, writer)

    async def _play(
        self, reply: Reply, got: Received, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> bytes | None:
        """Write the reply while watching for the client to leave."""
        play = asyncio.create_task(write_reply(reply, writer))
        watch = asyncio.create_task(reader.read(1))
        try:
            await asyncio.wait({play, watch}, return_when=asyncio.FIRST_COMPLETED)
            if not play.done():
                got.closed.set()
                return None
            return (watch.result() if watch.done() else b"") if play.result() else None
        finally:
            for task in (play, watch):
                task.cancel()
            await asyncio.gather(play, watch, return_exceptions=True)


async def read_request(early: bytes, reader: asyncio.StreamReader) -> Received:
    head = early + await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, path, _ = first.split(" ")
    headers = [(name.lower(), value.strip()) for name, _, value in (line.partition(":") for line in lines)]
    length = int(dict(headers).get("content-length", "0"))
    return Received(method, path, headers, await reader.readexactly(length))


async def write_reply(reply: Reply, writer: asyncio.StreamWriter) -> bool:
    if reply.framing != "raw":
        writer.write(head_of(reply))
    for step in reply.steps:
        if isinstance(step, Cut):
            cut(step, writer)
            return False
        await perform(step, reply, writer)
    if reply.framing == "chunked":
        writer.write(b"0\r\n\r\n")
    await writer.drain()
    return reply.framing in ("chunked", "length")


def head_of(reply: Reply) -> bytes:
    headers = list(reply.headers)
    if reply.framing == "chunked":
        headers.append(("transfer-encoding", "chunked"))
    elif reply.framing == "length":
        headers.append(("content-length", str(sum(len(step) for step in reply.steps if isinstance(step, bytes)))))
    else:
        headers.append(("connection", "close"))
    lines = [f"HTTP/1.1 {reply.status} Scripted", *(f"{name}: {value}" for name, value in headers)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


async def perform(step: Step, reply: Reply, writer: asyncio.StreamWriter) -> None:
    if isinstance(step, Pause):
        await asyncio.sleep(step.seconds)
    elif isinstance(step, Until):
        await step.event.wait()
    elif isinstance(step, bytes) and step:
        writer.write(b"%x\r\n%b\r\n" % (len(step), step) if reply.framing == "chunked" else step)
        await writer.drain()
        await asyncio.sleep(0)


def cut(how: Cut, writer: asyncio.StreamWriter) -> None:
    """EOF closes in order after what was written; RESET discards nothing that the peer already has."""
    if how is Cut.RESET:
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()
    else:
        writer.close()


@asynccontextmanager
async def fake_upstream(
    *scripts: Script, tls: ssl.SSLContext | None = None, port: int = 0
) -> AsyncIterator[FakeUpstream]:
    """Serve the scripts on a free loopback port, or on one that such a server had before; everything is closed on leaving."""
    upstream = FakeUpstream(scripts or [chat_either("ok")])
    server = await asyncio.start_server(upstream.serve, "127.0.0.1", port, ssl=tls)
    upstream.base = f"http{'s' if tls else ''}://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield upstream
    finally:
        server.close()
        for task in list(upstream.tasks):
            task.cancel()
        await asyncio.gather(*upstream.tasks, return_exceptions=True)


def unused_port() -> int:
    """A loopback port where nobody listens: connecting to it is refused."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port
