"""Step 9: what the client gets of an answer. Nothing leaves before the first content, and nothing after the end.

Until the first content leaves, an attempt can be replaced by another without a trace; of an answer that is held back the head
may leave before it, with a comment, so that no proxy gives up. What arrived together leaves together; events that do not speak
wait for the next that does, so the end of a stream is one write too.
"""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Protocol

import msgspec

from backends.dialects.dialect import Dialect, StreamWriter
from backends.messages import ChatRequest, Delta, Event, ToolCall, Whole, Wire
from backends.sse import KEEP_ALIVE
from gateway.errors import Left, RouterError
from gateway.request.client import Client
from gateway.request.reply import error_facts
from policies.decision import Call

LAST_WORDS_S = 2.0
"""How long a client that reads nothing holds up the end of an answer that failed."""

STREAM_HEADERS = {
    "content-type": "text/event-stream; charset=utf-8",
    "cache-control": "no-cache",
    "x-accel-buffering": "no",
}


def speaks(event: Event) -> bool:
    """Whether the event carries content that a user would see."""
    kind = type(event)
    if kind is Wire:
        return event.speaks  # type: ignore[union-attr]
    if kind is Delta:
        return bool(event.text or event.logprobs)  # type: ignore[union-attr]
    return kind is Whole or kind is ToolCall


class Egress(Protocol):
    """The client's side of an answer. `begun_at`, of `time.perf_counter`: the first of it has left."""

    @property
    def begun_at(self) -> float | None: ...

    @property
    def begun(self) -> bool: ...

    @property
    def is_open(self) -> bool:
        """Its head has left, with status 200."""
        ...

    def hold(self, headers: Mapping[str, str]) -> None:
        """What is said may be kept back for long. Where that is longer than a client should hear nothing, the head leaves with
        `headers`, which do not say who answers."""
        ...

    def attempt(self, call: Call, headers: Mapping[str, str], prompt_tokens: int = 0) -> None:
        """A new attempt, whose head would carry `headers`. What an earlier one said is forgotten. `prompt_tokens` is what
        its model counts, 0 where nobody knows."""
        ...

    def take(self, events: Sequence[Event], *, speaks: bool) -> bool:
        """The next of it. What has come by then leaves where any of these `speaks`. Whether the client has room for more."""
        ...

    @property
    def has_room(self) -> bool:
        """If it has not, `room` waits until it has."""
        ...

    async def room(self) -> None: ...

    def finish(self) -> None:
        """The answer is whole, and there is room for the end of it."""
        ...

    async def fail(self, error: RouterError) -> None:
        """End an open answer with an error that does not look like success. Raises Left when nobody reads it."""
        ...

    def close(self) -> None: ...


class StreamEgress:
    """An event stream in the client's dialect, with a sign of life in long silences so that no proxy in between gives up."""

    def __init__(
        self, dialect: Dialect, client: Client, request: ChatRequest, request_id: str, *, silence_s: float
    ) -> None:
        self._dialect = dialect
        self._client = client
        self._request = request
        self._request_id = request_id
        self._silence_s = silence_s
        self._created = int(time.time())
        self._renderer: StreamWriter | None = None
        self._headers: Mapping[str, str] = {}
        self._early: Mapping[str, str] = {}
        self._held: list[bytes] = []
        self._last_at = 0.0
        self._pulse: asyncio.TimerHandle | None = None
        self.begun_at: float | None = None

    @property
    def begun(self) -> bool:
        return self.begun_at is not None

    @property
    def is_open(self) -> bool:
        return self._client.begun

    def hold(self, headers: Mapping[str, str]) -> None:
        if self._pulse is None:
            self._early = {**STREAM_HEADERS, **self._dialect.headers(self._request_id), **headers}
            self._last_at = time.monotonic()
            self._beat_in(self._silence_s)

    @property
    def has_room(self) -> bool:
        return self._client.has_room

    def attempt(self, call: Call, headers: Mapping[str, str], prompt_tokens: int = 0) -> None:
        request = (
            msgspec.structs.replace(self._request, counted_tokens=prompt_tokens) if prompt_tokens else self._request
        )
        self._renderer = self._dialect.stream(request, call.model, self._request_id, self._created)
        self._headers = {**STREAM_HEADERS, **self._dialect.headers(self._request_id), **headers}
        self._held.clear()

    def take(self, events: Sequence[Event], *, speaks: bool) -> bool:
        renderer, held, client = self._renderer, self._held, self._client
        assert renderer is not None
        for event in events:
            data = renderer.render(event)
            if data:
                held.append(data)
        if speaks:
            if self.begun_at is None:
                self._begin()
            self._last_at = time.monotonic()
            client.write(held[0] if len(held) == 1 else b"".join(held))
            held.clear()
        return client.has_room

    async def room(self) -> None:
        await self._client.room()

    def finish(self) -> None:
        self._end(self._rendering.end())

    async def fail(self, error: RouterError) -> None:
        body = self._dialect.envelope(error_facts(error, self._request_id))
        last = self._rendering.error(body)
        self.close()
        try:
            async with asyncio.timeout(LAST_WORDS_S):
                await self._client.room()
        except TimeoutError:
            raise Left("The client does not read its answer.") from None
        self._end(last)

    def close(self) -> None:
        if self._pulse is not None:
            self._pulse.cancel()

    @property
    def _rendering(self) -> StreamWriter:
        assert self._renderer is not None
        return self._renderer

    def _begin(self) -> None:
        self.begun_at = time.perf_counter()
        if not self._client.begun:
            self._client.begin(200, self._headers)
        if self._pulse is None:
            self._beat_in(self._silence_s)

    def _beat_in(self, left_s: float) -> None:
        self._pulse = asyncio.get_running_loop().call_later(left_s, self._beat)

    def _beat(self) -> None:
        left_s = self._silence_s - (time.monotonic() - self._last_at)
        if left_s <= 0:
            left_s, self._last_at = self._silence_s, time.monotonic()
            if self._client.has_room:
                self._show_life()
        self._beat_in(left_s)

    def _show_life(self) -> None:
        """Every write is whole events, so a sign of life may stand between any two. Before the first event it is a comment in
        each dialect: an event would be of an answer that has not begun."""
        if not self._client.begun:
            self._client.begin(200, self._early)
        self._client.write(self._dialect.keep_alive if self.begun else KEEP_ALIVE)

    def _end(self, last: bytes) -> None:
        if self.begun_at is None:
            self._begin()
        self.close()
        self._client.write(b"".join((*self._held, last)), more=False)
        self._held.clear()
