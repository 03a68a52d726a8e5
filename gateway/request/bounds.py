"""How much of everything one request may hold. A table: what is counted, which field is at fault, and by which limit."""

from collections.abc import Mapping
from operator import attrgetter, gt
from types import MappingProxyType

from backends.messages import Asks, ChatRequest
from gateway.errors import BadRequest
from gateway.settings import Limits

IMAGES = attrgetter("images")

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
    counts, most = measured(request, limits)
    if any(map(gt, counts, most)):
        refuse(request.asks, counts, most)


def refuse(asks: Asks, counts: tuple[int, ...], most: tuple[int, ...]) -> None:
    """Raises BadRequest for the first that there is too much of."""
    for (what, param), count, limit in zip(BOUNDS[asks], counts, most, strict=True):
        if count > limit:
            raise BadRequest(f"There are {count} {what}; {limit} are allowed.", param=param)


def measured(request: ChatRequest, limits: Limits) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """How much there is, and how much there may be, both in the order of BOUNDS."""
    messages = request.messages
    if request.asks == "chat":
        images = 0 if request.measures.is_plain else sum(map(IMAGES, messages))
        found = (len(messages), len(request.tools), images, request.n)
        return found, (limits.messages, limits.tools, limits.images, limits.choices)
    if request.asks == "embeddings":
        return (len(messages),), (limits.inputs,)
    return (len(messages), request.n // len(messages)), (limits.inputs, limits.choices)
