"""POST /v1/messages/count_tokens: how long a prompt is for the model that would answer. Nothing is generated."""

import msgspec

from backends.dialects.anthropic_messages.request import read_to_count
from backends.errors import UpstreamError
from backends.messages import ChatRequest
from backends.upstream import Prepared
from gateway.errors import Uncounted
from gateway.house import Gateway
from gateway.live.in_force import Live, opened
from gateway.pages import NO_CACHE, who_asks
from gateway.request.chat import read_request
from gateway.request.faults import from_reject, from_upstream
from gateway.request.ingress import Receive, Scope, Send
from gateway.request.judge import Judged, judge
from gateway.request.owner import Owner
from gateway.request.reply import send_whole
from gateway.telemetry.observe import NullObservation
from policies.decision import Call


class Counted(msgspec.Struct, frozen=True):
    input_tokens: int


async def count_tokens(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    """Raises RouterError. The model's own tokenizer counts; what it would only be guessed to be is not told."""
    principal, headers = who_asks(gateway, scope)
    request = await read_request(receive, gateway.limits, read_to_count)
    async with Owner(gateway.live, NullObservation()) as owner:
        judged = await judge(owner.live, request, principal, headers, gateway.world)
        measured = measure(owner.live, request, judged, principal.salt)
    await send_whole(send, 200, msgspec.json.encode(Counted(measured.tokens)), NO_CACHE)


def measure(live: Live, request: ChatRequest, judged: Judged, salt: bytes) -> Prepared:
    """A prompt that is too long is counted all the same: who asks wants to know by how much."""
    choice = judged.decision.choice
    if not isinstance(choice, Call):
        known = judged.prepared.get(request.model)
        if choice.code != "context_length_exceeded" or known is None or not known.exact:
            raise from_reject(choice)
        return known
    try:
        measured = judged.prepared.get(choice.model) or opened(live.replica(choice)).prepare(request, salt)
    except UpstreamError as error:
        raise from_upstream(error, choice.model) from error
    if not measured.exact:
        raise Uncounted(f"Model {choice.model!r} runs elsewhere and its tokenizer is not here.")
    return measured
