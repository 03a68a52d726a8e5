"""GET /healthz: the process is up. GET /readyz: who can answer, who cannot and why."""

import msgspec

from gateway.control.health import Health, Verdict, health_of, verdict_of
from gateway.errors import Unauthorised
from gateway.house import Gateway
from gateway.pages.page import NO_CACHE, who_asks
from gateway.request.ingress import Receive, Scope, Send
from gateway.request.reply import send_whole


async def alive(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    await send_whole(send, 200, b'{"status":"ok"}', NO_CACHE)


async def ready(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    """Where keys are configured, details are for those who have one; a prober needs the status alone."""
    try:
        who_asks(gateway, scope)
        health: Health | Verdict = health_of(gateway)
    except Unauthorised:
        health = verdict_of(gateway)
    await send_whole(send, 200 if health.ready else 503, msgspec.json.encode(health), NO_CACHE)
