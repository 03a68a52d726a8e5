"""One stream of a worker's events, read to its end. The end is always told: a worker never falls silent by itself."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import Protocol

import msgspec

from backends.sse import Decoder, EventTooLarge, ServerEvent
from backends.transport import Response, TransportError
from backends.worker.heard import Message
from backends.worker.messages import EVENTS_PATH, HEARTBEAT_S, VERSION, Blocks, WorkerIs, WorkerLoad

SILENCE_S = 3 * HEARTBEAT_S
"""So long without a heartbeat, and nobody is there."""

MAX_EVENT_BYTES = 256 * 1024
"""Nine times the largest event, for what later versions add."""

KINDS: Mapping[bytes, "type[WorkerIs] | type[Blocks] | type[WorkerLoad]"] = {
    b"worker": WorkerIs,
    b"blocks": Blocks,
    b"load": WorkerLoad,
}


class Unheard(Exception):
    """The stream is over, or was none. `is_down`: nothing there takes requests."""

    def __init__(self, why: str, *, is_down: bool = False) -> None:
        super().__init__(why)
        self.is_down = is_down


class Server(Protocol):
    """Where the worker's pages are."""

    async def get(self, path: str, accept: str, connect_s: float) -> Response:
        """Raises TransportError."""
        ...


async def listen(server: Server, silence_s: float = SILENCE_S) -> AsyncGenerator[Message, None]:
    """The messages of one stream. Always ends by raising Unheard."""
    patience = _Patience(silence_s)
    try:
        async with aclosing(_events(server, patience)) as events:
            async for event in events:
                if event.name in KINDS:
                    yield _read(event)
                    await asyncio.sleep(0)  # however many came at once, others go between two of them
                    patience.begin()
    except TransportError as error:
        raise Unheard(str(error), is_down=error.kind == "unreachable") from error
    except (msgspec.DecodeError, EventTooLarge, RecursionError) as error:
        raise Unheard(f"what it says is not understood: {str(error)[:200]}") from error
    raise Unheard("it ended its stream of events")


class _Patience:
    """Until when the next message has to be here. A comment of a proxy, or an event that is not known, is none."""

    def __init__(self, silence_s: float) -> None:
        self._silence_s = silence_s
        self.begin()

    def begin(self) -> None:
        self._until = asyncio.get_running_loop().time() + self._silence_s

    @asynccontextmanager
    async def waiting(self) -> AsyncIterator[None]:
        try:
            async with asyncio.timeout_at(self._until):
                yield
        except TimeoutError:
            raise Unheard(f"nothing came from it for {self._silence_s:g} s") from None


async def _events(server: Server, patience: _Patience) -> AsyncGenerator[ServerEvent, None]:
    async with patience.waiting():
        response = await server.get(EVENTS_PATH, "text/event-stream", SILENCE_S)
    try:
        if response.status != 200:
            raise _refused(response.status)
        decoder = Decoder(MAX_EVENT_BYTES)
        while data := await _next(response, patience):
            for event in decoder.feed(data):
                yield event
    finally:
        await response.aclose()


async def _next(response: Response, patience: _Patience) -> bytes:
    async with patience.waiting():
        return await response.read()


def _refused(status: int) -> Unheard:
    hint = "; its keys file must say `gateway: true` of our key" if status in (401, 403) else ""
    return Unheard(f"it answers {status} when asked for its events{hint}", is_down=status == 503)


def _read(event: ServerEvent) -> Message:
    message = msgspec.json.decode(event.data, type=KINDS[event.name])
    if isinstance(message, WorkerIs) and message.version != VERSION:
        raise Unheard(f"it speaks version {message.version} of a worker's words, and we know {VERSION}")
    return message
