"""The listener of the admin API: apart from that of clients, and off where no port is set."""

import logging
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from gateway.connection.protocol import bounded_by
from gateway.control.admin import Admin
from gateway.house import Gateway
from gateway.settings import Settings

log = logging.getLogger("turnout.admin")

CLOSE_S = 1


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
        """The port that is listened on; differs from the setting where that is 0."""
        port: int = self.servers[0].sockets[0].getsockname()[1]
        return port


def open_admin(gateway: Gateway, settings: Settings) -> AdminServer | None:
    """None where it is off."""
    asked = settings.admin
    if asked.port is None or asked.key_hash is None:
        return None
    config = uvicorn.Config(
        Admin(gateway.experiments, asked.key_hash, settings.limits, gateway.world.now),
        host=asked.host,
        port=asked.port,
        http=bounded_by(settings.limits),
        ws="none",
        lifespan="off",
        access_log=False,
        server_header=False,
        log_config=None,
        proxy_headers=False,
        timeout_graceful_shutdown=CLOSE_S,
    )
    return AdminServer(config)
