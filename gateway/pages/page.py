"""What every page needs: who asks, and that nobody keeps the answer."""

from collections.abc import Awaitable, Callable, Mapping

from gateway.house import Gateway
from gateway.request.client import client_of
from gateway.request.identity import Principal
from gateway.request.ingress import Receive, Scope, Send, refuse_early

Page = Callable[[Gateway, Scope, Receive, Send], Awaitable[None]]

NO_CACHE = {"cache-control": "no-store"}


def who_asks(gateway: Gateway, scope: Scope) -> tuple[Principal, Mapping[str, str]]:
    """Raises RouterError."""
    head = client_of(scope).head
    refuse_early(head, gateway.limits)
    return gateway.identity.holder(head), head.headers
