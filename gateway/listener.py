"""A socket that is listened on, and the end of what came of it: nobody new, then those who are still answered, for a moment."""

import asyncio
import contextlib
import logging
import sys
from email.utils import formatdate
from typing import NoReturn

from gateway.asgi import App
from gateway.endpoints import NO_ENDPOINTS, Endpoints
from gateway.protocol import Callers, bounded_by
from gateway.settings import Limits

BACKLOG = 2_048
"""Connections that wait to be accepted, as far as the system's own bound allows."""

CLOSE_S = 1.0
"""For answers that ended in this instant to be written; what is still under way then is ended with an error."""

CANNOT_LISTEN = 3
"""The process's exit code."""

log = logging.getLogger("turnout.server")


class Listener:
    """`app` serves what `endpoints` do not."""

    def __init__(self, app: App, host: str, port: int, limits: Limits, endpoints: Endpoints = NO_ENDPOINTS) -> None:
        self.callers = Callers(app)
        self._host = host
        self._port = port
        self._protocol = bounded_by(limits, endpoints)
        self._server: asyncio.Server | None = None
        self._over = asyncio.Event()

    @property
    def started(self) -> bool:
        return self._server is not None

    @property
    def url(self) -> str | None:
        """Where we listen; None before that and after it."""
        return address(self._host, self.port) if self._server is not None and self._server.sockets else None

    @property
    def port(self) -> int:
        """The port that is listened on; differs from the setting where that is 0."""
        assert self._server is not None
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    def stop(self) -> None:
        self._over.set()

    async def serve(self) -> None:
        """Until it is told to stop; then everything is closed."""
        await self.listen()
        await self.stand()
        await self.close()

    async def listen(self) -> None:
        """Ends the process where the address cannot be listened on."""
        loop = asyncio.get_running_loop()
        self.callers.carry(date())
        try:
            self._server = await loop.create_server(
                lambda: self._protocol(self.callers), self._host, self._port, backlog=BACKLOG
            )
        except OSError as error:
            fail_to_listen(self._host, self._port, error)

    async def stand(self) -> None:
        """Until it is told to stop. Every answer has the date."""
        while not self._over.is_set():
            self.callers.carry(date())
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(1.0):
                    await self._over.wait()

    async def close(self) -> None:
        assert self._server is not None
        self._server.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(CLOSE_S):
                await self.callers.leave()
        self.callers.break_off()
        await asyncio.sleep(0)  # whoever was broken off says so


def fail_to_listen(host: str, port: int, error: OSError) -> NoReturn:
    log.error("cannot listen on %s:%s: %s", host, port, error.strerror or error)
    sys.exit(CANNOT_LISTEN)


def date() -> tuple[bytes, bytes]:
    return b"date", formatdate(usegmt=True).encode()


def address(host: str, port: int) -> str:
    """
    >>> address("::1", 8080)
    'http://[::1]:8080'
    """
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
