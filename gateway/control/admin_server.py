"""The listener of the admin API: apart from that of clients, and off where no port is set."""

import logging

from gateway.control.admin import Admin
from gateway.house import Gateway
from gateway.listener import Listener
from gateway.settings import Settings

log = logging.getLogger("turnout.admin")


class AdminServer(Listener):
    """Signals are the clients' server's; this one is told when that is over."""

    async def listen(self) -> None:
        await super().listen()
        log.info("the admin API listens at %s", self.url)


def open_admin(gateway: Gateway, settings: Settings) -> AdminServer | None:
    """None where it is off."""
    asked = settings.admin
    if asked.port is None or asked.key_hash is None:
        return None
    app = Admin(gateway.experiments, asked.key_hash, settings.limits, gateway.world.now)
    return AdminServer(app, asked.host, asked.port, settings.limits)
