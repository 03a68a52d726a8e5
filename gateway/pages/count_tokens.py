"""POST /v1/messages/count_tokens: how long a prompt is for the model that would answer. Nothing is generated."""

from contextlib import aclosing

import msgspec

from backends.dialects.anthropic_messages.request import read_to_count
from backends.errors import UpstreamError
from backends.messages import ChatRequest
from backends.remote import RemoteUpstream
from backends.upstream import TimeLimits, Upstream
from gateway.errors import Uncounted
from gateway.house import Gateway
from gateway.live.in_force import Live, opened
from gateway.pages.page import NO_CACHE, who_asks
from gateway.request.chat import read_request
from gateway.request.client import client_of
from gateway.request.faults import from_reject, from_upstream
from gateway.request.ingress import Receive, Scope, Send, read_body
from gateway.request.judge import Judged, judge
from gateway.request.owner import Owner
from gateway.request.reading.carried import with_head
from gateway.request.reply import send_whole
from gateway.telemetry.unseen import NullObservation
from policies.decision import Call


class Counted(msgspec.Struct, frozen=True):
    input_tokens: int


async def count_tokens(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    """Raises RouterError. The model's own tokenizer counts, here or at its server; what it would only be guessed to be is
    not told."""
    principal, headers = who_asks(gateway, scope)
    request = read_request(await read_body(receive, gateway.limits), gateway.limits, read_to_count)
    request = with_head(request, client_of(scope).head)
    async with aclosing(Owner(gateway.live, NullObservation())) as owner:
        judged = await judge(owner.live, request, principal, headers, gateway.world)
        tokens = await measure(owner.live.arm(judged.decision.assignments), request, judged, principal.salt)
    await send_whole(send, 200, msgspec.json.encode(Counted(tokens)), NO_CACHE)


async def measure(live: Live, request: ChatRequest, judged: Judged, salt: bytes) -> int:
    """By the model that would be asked first. Raises RouterError."""
    call = who_counts(live, request, judged)
    upstream = opened(live.replica(call))
    try:
        measured = judged.prepared.get(call.model) or upstream.prepare(request, salt)
        tokens = measured.tokens if measured.exact else await ask(upstream, request, live)
    except UpstreamError as error:
        raise from_upstream(error, call.model) from error
    if tokens is None:
        raise Uncounted(f"Model {call.model!r} runs elsewhere and its tokenizer is not here.")
    return tokens


def who_counts(live: Live, request: ChatRequest, judged: Judged) -> Call:
    """A prompt that is too long is counted all the same: who asks wants to know by how much. Raises RouterError."""
    choice = judged.decision.choice
    if isinstance(choice, Call):
        return choice
    ready = [replica for replica in live.replicas.get(request.model, ()) if replica.load().ready]
    if choice.code != "context_length_exceeded" or not ready:
        raise from_reject(choice)
    return Call(request.model, ready[0].name)


async def ask(upstream: Upstream, request: ChatRequest, live: Live) -> int | None:
    """The server's own count, where its dialect has a question for that. Raises UpstreamError."""
    if not isinstance(upstream, RemoteUpstream):
        return None
    limits = live.policy.resilience
    return await upstream.count(request, TimeLimits(connect_s=limits.connect_s, total_s=limits.first_content_s))
