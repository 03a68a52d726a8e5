"""A replica behind HTTP that a test can ask, and what it answered."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any

from backends.dialects.openai_chat.request import read_chat
from backends.dialects.openai_chat.stream import Renderer
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Event, Usage, Whole
from backends.remote import RemoteUpstream
from backends.sse import Decoder
from backends.upstream import TimeLimits, UpstreamCall

PLAIN: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
KEY = "kA-secret-9999"


class ShownKey:
    def reveal(self) -> str:
        return KEY


def chat(**fields: Any) -> ChatRequest:
    return read_chat(json.dumps({**PLAIN, **fields}).encode())


@dataclass
class Told:
    """Everything that came of one call. `started` tells whether the head would have left."""

    request: ChatRequest
    started: bool = False
    events: list[Event] = field(default_factory=list)
    error: UpstreamError | None = None

    @property
    def usage(self) -> list[Usage]:
        return [event for event in self.events if isinstance(event, Usage)]

    @property
    def whole(self) -> Any:
        return next(json.loads(event.body) for event in self.events if isinstance(event, Whole))

    @property
    def stream(self) -> bytes:
        renderer = Renderer(self.request, "m", "chatcmpl-1", 1)
        ending = renderer.error(self.error.body or b"{}") if self.error else renderer.end()
        return b"".join(map(renderer.render, self.events)) + ending

    @property
    def chunks(self) -> list[Any]:
        datas = [event.data for event in Decoder().feed(self.stream)]
        return [json.loads(data) for data in datas if data != b"[DONE]"]

    @property
    def choices(self) -> list[Any]:
        return [choice for chunk in self.chunks for choice in chunk.get("choices", ())]

    def text(self, index: int = 0) -> str:
        return "".join(c["delta"].get("content") or "" for c in self.choices if c["index"] == index)

    def finishes(self, index: int = 0) -> list[str]:
        return [c["finish_reason"] for c in self.choices if c["index"] == index and c["finish_reason"]]

    @property
    def tool_calls(self) -> list[Any]:
        """Accumulated by index, string fields joined, as the SDKs do it."""
        calls: dict[int, dict[str, Any]] = {}
        for fragment in [f for c in self.choices for f in c["delta"].get("tool_calls") or ()]:
            call = calls.setdefault(fragment["index"], {"id": "", "name": "", "arguments": ""})
            call["id"] += fragment.get("id") or ""
            for key in ("name", "arguments"):
                call[key] += fragment.get("function", {}).get(key) or ""
        return [calls[index] for index in sorted(calls)]


Ask = Callable[..., Awaitable[Told]]


async def hear(upstream: RemoteUpstream, request: ChatRequest, limits: TimeLimits) -> Told:
    told = Told(request)
    call = UpstreamCall(request=request, prepared=upstream.prepare(request, b""), limits=limits)
    try:
        answer = await upstream.start(call)
        told.started = True
        try:
            async for event in answer:
                told.events.append(event)
        finally:
            await answer.aclose()
    except UpstreamError as error:
        told.error = error
    return told
