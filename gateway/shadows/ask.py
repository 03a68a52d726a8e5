"""One call of a shadow: asked once, at the lowest priority, and heard to its end or not at all."""

import asyncio
import time
from collections.abc import Mapping

import msgspec

from backends.errors import UpstreamError
from backends.messages import ChatRequest, Delta, Event, ToolCall, Usage, Whole, Wire
from backends.upstream import GIVES_WAY, Answer, Prepared, TimeLimits, Upstream, UpstreamCall
from gateway.request.escalate.listen import Listener
from gateway.request.settle import spend_microusd
from policies.catalogue import Model, Price
from policies.escalate.said import Said
from policies.facts import Facts

CONNECT_S = 5.0

LONGEST_OUTPUT = 65_536
"""Tokens of an answer where nothing bounds it. A shadow of such a model is refused, unless a rollout's change asks it."""


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a call: an answer, or the kind of its failure. `sent`: work may have been done, and charged. `refusal` are
    the headers of a refusal, `status` its status. `first_ms` is when it began to speak."""

    said: Said | None = None
    usage: Usage | None = None
    failed: str = ""
    sent: bool = True
    took_ms: float = 0.0
    first_ms: float | None = None
    refusal: Mapping[str, str] = {}
    status: int = 0
    microusd: int = 0
    trace_id: str = ""


def most_microusd(model: Model, request: ChatRequest, facts: Facts) -> int:
    """What one call may come to at most. A token is a byte of the request at least; what is not in it (pictures behind an
    address, the chat template) is in the estimate."""
    if model.price == Price():
        return 0
    sent = len(request.native.body) if request.native is not None else len(request.raw)
    output = most_tokens(model, request) or request.n * (model.fits.context or LONGEST_OUTPUT)
    dearest = max(model.price.input, model.price.cached_input)
    price = Price(dearest, dearest, model.price.output)
    return spend_microusd(price, Usage(facts.prompt_tokens + sent, output))


def most_tokens(model: Model, request: ChatRequest) -> int | None:
    """Of all its answers together, where it is known."""
    bounds = [bound for bound in (request.max_tokens, model.fits.output) if bound is not None]
    return request.n * min(bounds) if bounds else None


def spent_microusd(told: Told, price: Price, most: int) -> int:
    """What it charged; of a call that nobody told the end of, the most that it can have been."""
    if not told.sent:
        return 0
    return spend_microusd(price, told.usage) if told.usage is not None else most


async def ask(  # noqa: PLR0917  one call
    upstream: Upstream,
    request: ChatRequest,
    prepared: Prepared,
    within_s: float,
    headers: Mapping[str, str],
    most: int | None,
) -> Told:
    """Raises nothing but CancelledError. `most` tokens are heard, then it is closed."""
    limits = TimeLimits(connect_s=min(CONNECT_S, within_s), first_content_s=within_s, gap_s=within_s, total_s=within_s)
    call = UpstreamCall(request=request, prepared=prepared, limits=limits, headers=headers, priority=GIVES_WAY)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(within_s):
            told = await hear(await upstream.start(call), most, began)
    except TimeoutError:
        told = Told(failed="total_timeout")
    except UpstreamError as error:
        told = Told(failed=error.kind, sent=error.sent, refusal=error.headers, status=error.status or 0)
    return msgspec.structs.replace(told, took_ms=(time.perf_counter() - began) * 1_000)


async def hear(answer: Answer, most: int | None, began: float | None = None) -> Told:
    """Raises UpstreamError. `began` is when it was asked, by the counter of performance."""
    listener, usage, pieces, first_ms = Listener(), None, 0, None
    try:
        async for event in answer:
            listener.hear(event)
            if isinstance(event, Usage):
                usage = event
            if first_ms is None and began is not None and (speaks(event) or isinstance(event, Whole)):
                first_ms = (time.perf_counter() - began) * 1_000
            pieces += speaks(event)
            if most is not None and pieces > most:
                raise UpstreamError("bad_answer", "the shadow says more than it was asked for", sent=True)
    finally:
        await answer.aclose()
    said = listener.said()
    if not said.whole:
        return Told(failed="stream_cut", usage=usage)
    return Told(said=said, usage=usage, first_ms=first_ms)


def speaks(event: Event) -> bool:
    return isinstance(event, Delta | ToolCall) or (isinstance(event, Wire) and event.speaks)
