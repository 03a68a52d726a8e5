"""POST /v1/route and its like: a decision without an answer."""

from contextlib import aclosing
from dataclasses import replace

import msgspec

from backends.dialects.dialect import Dialect
from gateway.house import Gateway
from gateway.pages.page import NO_CACHE, Page, who_asks
from gateway.pages.route_text import route_text
from gateway.request.chat import read_request
from gateway.request.client import client_of
from gateway.request.faults import from_reject
from gateway.request.ingress import Receive, Scope, Send, read_body
from gateway.request.judge import judge
from gateway.request.owner import Owner
from gateway.request.reading.carried import with_head
from gateway.request.reply import send_whole
from gateway.request.reserve import foreseen
from gateway.telemetry.request_ids import fresh_request_id
from gateway.telemetry.unseen import NullObservation
from policies.decision import Decision, Reject
from policies.estimates import Estimate
from policies.facts import Facts

TEXT = "text/plain; charset=utf-8"


class RouteAnswer(msgspec.Struct, frozen=True):
    """What would happen to a request now. `status` is what it would begin with: 200 where somebody would be asked."""

    status: int
    decision: Decision
    facts: Facts
    estimate: Estimate


def route(dialect: Dialect) -> Page:
    """What would happen to a request of this dialect."""

    async def page(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        await tell_route(gateway, dialect, scope, receive, send)

    return page


async def tell_route(gateway: Gateway, dialect: Dialect, scope: Scope, receive: Receive, send: Send) -> None:
    """The decision with its facts, estimate, candidates and reasons; as text for who asks for that.

    Nothing is generated, no load is claimed, and no line learns of it.
    """
    principal, headers = who_asks(gateway, scope)
    request = read_request(await read_body(receive, gateway.limits), gateway.limits, dialect.read)
    request = with_head(request, client_of(scope).head)
    async with aclosing(Owner(gateway.live, NullObservation())) as owner:
        world = replace(gateway.world, itemises=True)
        judged = await judge(owner.live, request, principal, headers, world, fresh_request_id())
        judged = await foreseen(owner.live, request, principal, headers, judged, gateway.budgets)
    if headers.get("accept", "").startswith("text/plain"):
        text = route_text(judged.decision, judged.estimate)
        return await send_whole(send, 200, f"{text}\n".encode(), NO_CACHE, TEXT)
    choice = judged.decision.choice
    status = from_reject(choice).status if isinstance(choice, Reject) else 200
    answer = RouteAnswer(status, judged.decision, judged.facts, judged.estimate)
    await send_whole(send, 200, msgspec.json.encode(answer), NO_CACHE)
