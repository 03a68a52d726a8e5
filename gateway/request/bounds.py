"""How much of everything one request may hold. A table: what is counted, which field is at fault, and by which limit."""

from collections.abc import Mapping
from operator import attrgetter, gt
from types import MappingProxyType

from backends.messages import Asks, ChatRequest
from gateway.errors import BadRequest
from gateway.settings import Limits

IMAGES = attrgetter("images")

Counts = tuple[int, ...]

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
    messages = request.messages
    if request.asks == "chat":
        images = 0 if request.measures.is_plain else sum(map(IMAGES, messages))
        counts: Counts = len(messages), len(request.tools), images, request.n
        most: Counts = limits.messages, limits.tools, limits.images, limits.choices
    elif request.asks == "embeddings":
        counts, most = (len(messages),), (limits.inputs,)
    else:
        counts, most = (len(messages), request.n // len(messages)), (limits.inputs, limits.choices)
    if any(map(gt, counts, most)):
        raise too_many(request.asks, counts, most)


def too_many(asks: Asks, counts: Counts, most: Counts) -> BadRequest:
    """The first that there is too much of, by how much there is and may be, in the order of BOUNDS."""
    (what, param), count, limit = next(of for of in zip(BOUNDS[asks], counts, most, strict=True) if of[1] > of[2])
    return BadRequest(f"There are {count} {what}; {limit} are allowed.", param=param)
