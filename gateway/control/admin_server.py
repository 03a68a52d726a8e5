"""The listener of the admin API: apart from that of clients, and off where no port is set."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from gateway.connection.listening import listening, port_of
from gateway.control.admin import Admin
from gateway.house import Gateway
from gateway.settings import Settings

log = logging.getLogger("turnout.admin")


class AdminServer(uvicorn.Server):
    """Signals are the clients' server's; this one is told when that is over."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            log.info("the admin API listens on %s, port %s", self.config.host, self.port)

    @property
    def port(self) -> int:
        return port_of(self)


def open_admin(gateway: Gateway, settings: Settings) -> AdminServer | None:
    """None where it is off."""
    asked = settings.admin
    if asked.port is None or asked.key_hash is None:
        return None
    admin = Admin(gateway.experiments, asked.key_hash, settings.limits, gateway.world.now)
    return AdminServer(listening(admin, asked.host, asked.port, settings.limits, lifespan="off"))
