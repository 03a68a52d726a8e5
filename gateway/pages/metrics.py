"""GET /metrics: what Prometheus reads."""

from gateway.errors import NotFound
from gateway.house import Gateway
from gateway.pages.page import NO_CACHE
from gateway.request.client import client_of
from gateway.request.ingress import Receive, Scope, Send
from gateway.request.reply import send_whole
from gateway.telemetry.metrics.exposition import METRICS_CONTENT_TYPE, OPENMETRICS, OPENMETRICS_CONTENT_TYPE


async def metrics(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    """Needs no key, but the right name."""
    headers = client_of(scope).head.headers
    gateway.identity.refuse_foreign(headers)
    exemplars = OPENMETRICS in headers.get("accept", "")
    page = gateway.observer.metrics_page(exemplars=exemplars)
    if not page:
        raise NotFound("Metrics are switched off here.")
    await send_whole(send, 200, page, NO_CACHE, OPENMETRICS_CONTENT_TYPE if exemplars else METRICS_CONTENT_TYPE)
