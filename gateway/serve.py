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
from collections.abc import Callable, Iterator
from socket import socket
from types import FrameType

import uvicorn

from gateway.addresses import url_of
from gateway.app import Routes, behind_cors
from gateway.connection.listening import listening, port_of
from gateway.control.admin_server import AdminServer, open_admin
from gateway.control.announce import Say, announce
from gateway.process_log import write_process_log
from gateway.process_memory import collect_seldom, give_back
from gateway.request.door import Door
from gateway.settings import Settings
from gateway.wiring import Built, build_gateway


class DrainingServer(uvicorn.Server):
    """A uvicorn server whose first signal closes the door and whose exit waits for the room to be empty. `at_end` is called
    before the process may be ended by the signals that came."""

    def __init__(self, config: uvicorn.Config, door: Door, drain_s: float, at_end: Callable[[], None]) -> None:
        super().__init__(config)
        self._door = door
        self._drain_s = drain_s
        self._at_end = at_end
        self._loop: asyncio.AbstractEventLoop | None = None

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        if self._loop is None:
            self.should_exit = True
        elif self._door.is_draining:
            super().handle_exit(sig, frame)
        else:
            self._loop.call_soon_threadsafe(self._door.drain)

    async def main_loop(self) -> None:
        """Serve until told to stop, then until empty."""
        self._loop = asyncio.get_running_loop()
        async with asyncio.TaskGroup() as tasks:
            waiting = tasks.create_task(self._exit_when_empty(), name="drain")
            await super().main_loop()
            waiting.cancel()

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        try:
            await super().shutdown(sockets)
        finally:
            self._at_end()

    async def _exit_when_empty(self) -> None:
        await self._door.closed()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(self._drain_s):
                await self._door.empty()
        self.should_exit = True

    @property
    def url(self) -> str | None:
        """Where we listen; None before that and after it."""
        return url_of(self.config.host, self.port) if self.started and self.servers[0].sockets else None

    @property
    def port(self) -> int:
        return port_of(self)


def open_server(built: Built, settings: Settings) -> DrainingServer:
    routes = Routes(built.gateway, built.upkeep)
    app = behind_cors(routes, settings.cors_origins)
    config = listening(app, settings.host, settings.port, settings.limits, routes.endpoints, lifespan="on")
    return DrainingServer(config, built.gateway.door, settings.drain_s, built.gateway.observer.flush)


def serve(settings: Settings, say: Say | None = None) -> None:
    """Run until a signal. `say` hears how the start goes. Raises BadSettings, PolicyRefused before we listen.

    Where no model can ever answer, the reasons are said and the process ends with code 1.
    """
    write_process_log(settings.telemetry.log)
    built = build_gateway(settings)
    server = open_server(built, settings)
    collect_seldom()
    with asyncio.Runner(loop_factory=server.config.get_loop_factory()) as runner:
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
            admin.should_exit = True
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
