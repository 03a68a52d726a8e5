"""The server: sockets, signals, and an end in good order.

On SIGTERM or SIGINT new requests are refused with 503 and `Retry-After` on a connection that closes, answers under way
go on to their end (for `drain_s` at most), then the process leaves. A second signal does not wait. SIGHUP reads the
policy and all keys again.
"""

import asyncio
import atexit
import contextlib
import logging
import os
import signal
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType

import uvloop

from gateway.app import Routes, behind_cors
from gateway.control.admin_server import AdminServer, open_admin
from gateway.control.announce import Say, announce
from gateway.listener import Listener
from gateway.process_log import write_process_log
from gateway.process_memory import collect_seldom, give_back
from gateway.request.door import Door
from gateway.settings import Settings
from gateway.wiring import Built, build_gateway

Keep = Callable[[asyncio.Event], Coroutine[None, None, None]]
"""Work beside the requests, until the event is set."""

SIGNALS = (signal.SIGINT, signal.SIGTERM)

log = logging.getLogger("turnout.server")


class DrainingServer(Listener):
    """The clients' listener. Its first signal closes the door, and its end waits for the room to be empty. `keep` runs beside
    it from first to last; `at_end` is called before the process may be ended by the signals that came."""

    def __init__(self, routes: Routes, settings: Settings, door: Door, keep: Keep, at_end: Callable[[], None]) -> None:
        app = behind_cors(routes, settings.cors_origins)
        super().__init__(app, settings.host, settings.port, settings.limits, routes.endpoints)
        self._door = door
        self._drain_s = settings.drain_s
        self._keep = keep
        self._at_end = at_end
        self._heard: list[int] = []
        self._keeping: asyncio.Task[None] | None = None

    async def serve(self) -> None:
        over = asyncio.Event()
        with self._hearing_signals():
            async with asyncio.TaskGroup() as tasks:
                self._keeping = tasks.create_task(self._kept(over), name="upkeep")
                await self.listen()
                waiting = tasks.create_task(self._stop_when_empty(), name="drain")
                await self.stand()
                waiting.cancel()
                await self.close()
                over.set()
            self._at_end()

    async def _kept(self, over: asyncio.Event) -> None:
        """Requests are answered though something beside them breaks."""
        try:
            await self._keep(over)
        except Exception:
            log.exception("what runs beside the requests broke")

    async def _stop_when_empty(self) -> None:
        await self._door.closed()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._drain_s):
                await self._door.empty()
        self.stop()

    @contextlib.contextmanager
    def _hearing_signals(self) -> Iterator[None]:
        """Those that we did not obey in good order end the process as they would have, after all."""
        if threading.current_thread() is not threading.main_thread():
            yield
            return
        loop = asyncio.get_running_loop()

        def hear(number: int, _: FrameType | None) -> None:
            loop.call_soon_threadsafe(self.heed, number)

        before = {number: signal.signal(number, hear) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        for heard in reversed(self._heard):
            signal.raise_signal(heard)

    def heed(self, number: int) -> None:
        """The first closes the door, the second does not wait for who is inside, the third for nobody."""
        if not self._door.is_draining:
            self._door.drain()
            return
        self._heard.append(number)
        if len(self._heard) > 1 and self._keeping is not None:
            self._keeping.cancel()
        self.stop()


def open_server(built: Built, settings: Settings) -> DrainingServer:
    gateway = built.gateway
    return DrainingServer(Routes(gateway), settings, gateway.door, built.upkeep, gateway.observer.flush)


def serve(settings: Settings, say: Say | None = None) -> None:
    """Run until a signal. `say` hears how the start goes. Raises BadSettings, PolicyRefused before we listen.

    Where no model can ever answer, the reasons are said and the process ends with code 1.
    """
    write_process_log(settings.telemetry.log)
    built = build_gateway(settings)
    server = open_server(built, settings)
    collect_seldom()
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(_serve(server, built, say, open_admin(built.gateway, settings)))
    if built.upkeep.left_behind:
        atexit.register(end_at_once)
    live = built.gateway.live
    if live.is_hopeless:
        if say:
            say(
                "\n".join(
                    ["no model can ever answer:", *(f"  {replica.model}: {replica.load().why_not}" for replica in live)]
                )
            )
        sys.exit(1)


def end_at_once() -> None:
    """The last thing of the process: a thread inside native code would bring the interpreter down while it is taken apart."""
    try:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


async def _serve(server: DrainingServer, built: Built, say: Say | None, admin: AdminServer | None) -> None:
    async with asyncio.TaskGroup() as tasks:
        if admin is not None:
            tasks.create_task(admin.serve(), name="admin")
        trimming = tasks.create_task(give_back(), name="give-memory-back")
        telling = tasks.create_task(announce(built.gateway, lambda: server.url, say), name="announce") if say else None
        with reload_on_hangup(built):
            await server.serve()
        if admin is not None:
            admin.stop()
        trimming.cancel()
        if telling is not None:
            telling.cancel()


@contextlib.contextmanager
def reload_on_hangup(built: Built) -> Iterator[None]:
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGHUP, built.reloader.wake, True)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGHUP)
