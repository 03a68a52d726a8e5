"""How a server of ours listens: clients' and the admin API's alike. No access log, no word of proxies, no web sockets."""

from typing import Literal

import uvicorn

from gateway.connection.asgi import App
from gateway.connection.endpoints import NO_ENDPOINTS, Endpoints
from gateway.connection.protocol import bounded_by
from gateway.settings import Limits

CLOSE_S = 1
"""For answers that ended in this instant to be written; what is still under way then is ended with an error."""


def listening(
    app: App,
    host: str,
    port: int,
    limits: Limits,
    endpoints: Endpoints = NO_ENDPOINTS,
    *,
    lifespan: Literal["on", "off"],
) -> uvicorn.Config:
    """How uvicorn is to listen at `host` and `port` (0: any that is free) for requests within `limits`."""
    return uvicorn.Config(
        app,
        host=host,
        port=port,
        http=bounded_by(limits, endpoints),
        ws="none",
        lifespan=lifespan,
        access_log=False,
        server_header=False,
        log_config=None,
        proxy_headers=False,
        timeout_graceful_shutdown=CLOSE_S,
    )


def port_of(server: uvicorn.Server) -> int:
    """The port that is listened on; differs from the setting where that is 0."""
    port: int = server.servers[0].sockets[0].getsockname()[1]
    return port
