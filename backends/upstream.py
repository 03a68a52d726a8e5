"""What the gateway needs of anything that answers, over HTTP or in this process. One interface, two kinds."""

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from functools import cache
from typing import Protocol, runtime_checkable

import msgspec

from backends.messages import ChatRequest, Event


class Prepared(msgspec.Struct, frozen=True, kw_only=True):
    """A request as one model reads it.

    `tokens` is the prompt's length, `exact` whether the model's own tokenizer counted it. `blocks` are the chained
    keyed digests of its prefix, one for every `block_tokens` tokens. `token_ids` is empty for remote models.
    `salt` is the one that `blocks` were keyed with. Of several prompts in one request the longest is measured, and `batch`
    holds the token ids of each; it is empty where there is one.
    """

    tokens: int
    exact: bool
    blocks: tuple[bytes, ...] = ()
    block_tokens: int = 0
    token_ids: tuple[int, ...] = ()
    salt: bytes = b""
    batch: tuple[tuple[int, ...], ...] = ()


class TimeLimits(msgspec.Struct, frozen=True, kw_only=True):
    """Four clocks, in seconds: to connect, to the first content, between two events, and over all."""

    connect_s: float = 5.0
    first_content_s: float = 120.0
    gap_s: float = 60.0
    total_s: float = 600.0


GIVES_WAY = 1_000_000
"""A priority: from here on work stands behind all that somebody waits for, and is in no engine's `load()`."""


class UpstreamCall(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt. `headers` are added to the empty set (trace context); `priority` lower is sooner. `resident_tokens` of
    the prompt are believed to be held there, so that the rest of it is what has to be computed."""

    request: ChatRequest
    prepared: Prepared
    limits: TimeLimits = TimeLimits()
    headers: Mapping[str, str] = {}
    priority: int = 0
    resident_tokens: int = 0


class Load(msgspec.Struct, frozen=True, kw_only=True):
    """Work at a replica. `ready` is False while it loads, restarts or drains, with `why_not` in words.

    `gave_up`: it is not ready and will not be by waiting. `active_tokens` are of prompts whose answers are under way: what
    each decode step reads. `others_running` and `others_queued_tokens` say how much of it came from elsewhere, where the
    replica tells.
    """

    ready: bool = True
    why_not: str = ""
    gave_up: bool = False
    queued_tokens: int = 0
    running: int = 0
    active_tokens: int = 0
    others_running: int = 0
    others_queued_tokens: int = 0


class Answer(Protocol):
    """An answer under way. Closing it at any time cancels the work behind it; closing twice is harmless."""

    def __aiter__(self) -> AsyncIterator[Event]:
        """Events in order. Raises `backends.errors.UpstreamError`."""
        ...

    async def aclose(self) -> None: ...


class Sink(Protocol):
    """Where events go. `take` is handed those that came together, and says whether there is room for more; where there is
    none, `room` waits for it, and so does the upstream."""

    def take(self, events: Sequence[Event]) -> bool: ...

    async def room(self) -> None: ...


@runtime_checkable
class Pours(Protocol):
    """An answer that hands its events on in the instant in which they come, without a turn of the event loop for each."""

    async def pour(self, sink: Sink) -> None:
        """All events, in order. Raises as iteration does."""
        ...


@cache
def _pours(kind: type[object]) -> bool:
    """Asked once of each kind: looking takes 5 us."""
    return issubclass(kind, Pours)


def pour(answer: Answer, sink: Sink) -> Awaitable[None]:
    """Every event of the answer into `sink`, at its pace."""
    if _pours(type(answer)):
        return answer.pour(sink)  # type: ignore[attr-defined, no-any-return]  # asked just now
    return _one_by_one(answer, sink)


async def _one_by_one(answer: Answer, sink: Sink) -> None:
    async for event in answer:
        if not sink.take((event,)):
            await sink.room()


class Upstream(Protocol):
    """One replica of one model."""

    def prepare(self, request: ChatRequest, salt: bytes) -> Prepared:
        """Measure the prompt and key its prefix; `salt` keeps tenants apart."""
        ...

    async def start(self, call: UpstreamCall) -> Answer:
        """Send the request. Raises `backends.errors.UpstreamError`; then nothing is left running."""
        ...

    def resident_tokens(self, prepared: Prepared) -> int | None:
        """Tokens of this prompt held here, if the replica knows it for sure; None if it must be guessed."""
        ...

    def load(self) -> Load: ...

    async def aclose(self) -> None: ...
