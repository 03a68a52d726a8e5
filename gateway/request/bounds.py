"""How much of everything one request may hold. A table: what is counted, which field is at fault, and by which limit."""

from collections.abc import Mapping
from operator import gt
from types import MappingProxyType

from backends.messages import Asks, ChatRequest
from gateway.errors import BadRequest
from gateway.settings import Limits

Bound = tuple[str, str]
"""What is counted, and the field that holds it."""

BOUNDS: Mapping[Asks, tuple[Bound, ...]] = MappingProxyType(
    {
        "chat": (("messages", "messages"), ("tools", "tools"), ("images", "messages"), ("answers", "n")),
        "embeddings": (("inputs", "input"),),
        "completions": (("prompts", "prompt"), ("answers to a prompt", "n")),
    }
)


def refuse_many(request: ChatRequest, limits: Limits) -> None:
    """Raises BadRequest."""
    counts, most = counts_of(request), most_of(request.asks, limits)
    if not any(map(gt, counts, most)):
        return
    for (what, param), count, limit in zip(BOUNDS[request.asks], counts, most, strict=True):
        if count > limit:
            raise BadRequest(f"There are {count} {what}; {limit} are allowed.", param=param)


def counts_of(request: ChatRequest) -> tuple[int, ...]:
    """In the order of BOUNDS, as all here is."""
    messages = request.messages
    if request.asks == "chat":
        return len(messages), len(request.tools), sum([turn.images for turn in messages]), request.n
    if request.asks == "embeddings":
        return (len(messages),)
    return len(messages), request.n // len(messages)


def most_of(asks: Asks, limits: Limits) -> tuple[int, ...]:
    if asks == "chat":
        return limits.messages, limits.tools, limits.images, limits.choices
    return (limits.inputs,) if asks == "embeddings" else (limits.inputs, limits.choices)
