"""What this process tells the gateways in front of it, where it is a worker: a gateway of one engine and no other model."""

import asyncio
import time
from collections.abc import Callable, Iterable

import msgspec

from backends.worker.voice import Voice, Worker, load_of
from gateway.errors import Busy, GatewaysOnly, Left, NotFound, RouterError, Unavailable
from gateway.house import Gateway
from gateway.pages.page import NO_CACHE, who_asks
from gateway.request.client import Asker, client_of
from gateway.request.door import Door
from gateway.request.ingress import Receive, Scope, Send
from gateway.request.reply import send_body, send_head, send_whole

TICK_S = 0.05
"""News of several steps go out together. The engine's thread wakes nobody for them."""

PATIENCE_S = 10.0
"""A reader that takes nothing for so long is dropped; when it comes again it is told everything anew."""

MOST_READERS = 64

EVENT_STREAM = "text/event-stream"
STREAM = {"content-type": EVENT_STREAM, "cache-control": "no-store", "x-accel-buffering": "no"}

STOPPING = "stopping"


async def load(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    told = load_of(worker_for(gateway, scope), why_stopped(gateway.door))
    await send_whole(send, 200, msgspec.json.encode(told), NO_CACHE)


class Events:
    """The stream of events. Readers have a bound, and each holds no more than a place and one unsent event."""

    def __init__(self) -> None:
        self._readers = 0

    async def __call__(self, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        worker = worker_for(gateway, scope)
        if scope["method"] == "HEAD":
            return await send_whole(send, 200, b"", NO_CACHE, EVENT_STREAM)
        if self._readers >= MOST_READERS:
            raise Busy(f"{MOST_READERS} gateways listen, the most that a worker speaks to.")
        self._readers += 1
        try:
            await self._speak(worker, gateway.door, lambda: may_hear(gateway, scope, worker), client_of(scope), send)
        finally:
            self._readers -= 1
        return None

    async def _speak(self, worker: Worker, door: Door, may: Callable[[], bool], client: Asker, send: Send) -> None:
        client.watch()
        try:
            await send_head(send, 200, STREAM)
            await speak(Voice(worker), door, may, send)
            await send_body(send, b"")
        finally:
            client.unwatch()


async def speak(voice: Voice, door: Door, may: Callable[[], bool], send: Send, patience_s: float = PATIENCE_S) -> None:
    """While the reader `may` hear it, until the last request of a stopping process has ended. Raises Left for a reader that
    does not read."""
    while may():
        is_last = door.is_draining and door.in_flight == 0
        await write(voice.news(time.monotonic(), why_stopped(door)), send, patience_s)
        if is_last:
            return
        await asyncio.sleep(TICK_S)


async def write(events: Iterable[bytes], send: Send, patience_s: float) -> None:
    try:
        for event in events:
            async with asyncio.timeout(patience_s):
                await send_body(send, event, more=True)
    except TimeoutError:
        raise Left("The reader does not read.") from None


def why_stopped(door: Door) -> str:
    return STOPPING if door.is_draining else ""


def may_hear(gateway: Gateway, scope: Scope, worker: Worker) -> bool:
    """Whether the reader's key still counts, and this is still the engine. Whoever comes again is told which it is."""
    try:
        return worker_for(gateway, scope) is worker
    except RouterError:
        return False


def worker_for(gateway: Gateway, scope: Scope) -> Worker:
    """The engine that is all there is here. Raises RouterError: who asks may not know, or there is none."""
    principal, _ = who_asks(gateway, scope)
    if not principal.is_gateway:
        raise GatewaysOnly("This key may not know what the worker holds for others.")
    replicas = list(gateway.live)
    if len(replicas) != 1 or not replicas[0].is_local:
        raise NotFound("This process is no worker: its policy has more than one engine.")
    if not isinstance(worker := replicas[0].upstream, Worker):
        raise Unavailable(f"There is no engine yet: {replicas[0].load().why_not}.")
    return worker
