"""How much of everything one request may hold. A table: what is counted, by which limit, and which field is at fault."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from backends.messages import Asks, ChatRequest
from gateway.errors import BadRequest
from gateway.settings import Limits

Bound = tuple[str, str, Callable[[ChatRequest], int], Callable[[Limits], int]]

OF_A_CHAT: tuple[Bound, ...] = (
    ("messages", "messages", lambda request: len(request.messages), lambda limits: limits.messages),
    ("tools", "tools", lambda request: len(request.tools), lambda limits: limits.tools),
    ("images", "messages", lambda request: sum(turn.images for turn in request.messages), lambda limits: limits.images),
    ("answers", "n", lambda request: request.n, lambda limits: limits.choices),
)
OF_EMBEDDINGS: tuple[Bound, ...] = (
    ("inputs", "input", lambda request: len(request.messages), lambda limits: limits.inputs),
)
OF_COMPLETIONS: tuple[Bound, ...] = (
    ("prompts", "prompt", lambda request: len(request.messages), lambda limits: limits.inputs),
    ("answers to a prompt", "n", lambda request: request.n // len(request.messages), lambda limits: limits.choices),
)
BOUNDS: Mapping[Asks, tuple[Bound, ...]] = MappingProxyType(
    {"chat": OF_A_CHAT, "embeddings": OF_EMBEDDINGS, "completions": OF_COMPLETIONS}
)


def refuse_many(request: ChatRequest, limits: Limits) -> None:
    """Raises BadRequest."""
    for what, param, count, limit in BOUNDS[request.asks]:
        if count(request) > limit(limits):
            raise BadRequest(f"There are {count(request)} {what}; {limit(limits)} are allowed.", param=param)
