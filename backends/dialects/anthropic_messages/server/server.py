"""A server that speaks Anthropic's Messages, as it is asked and heard."""

import time
from collections.abc import Callable, Mapping

import msgspec

from backends.dialects.anthropic_messages.server.ask import asked_of
from backends.dialects.anthropic_messages.server.chunks import MessagesAsChunks
from backends.dialects.anthropic_messages.server.relay import MessagesRelay
from backends.dialects.anthropic_messages.server.whole import as_completion, relayed
from backends.dialects.anthropic_messages.words import DIALECT
from backends.dialects.openai_chat.reported import Count
from backends.dialects.openai_chat.whole import AnswerError
from backends.messages import ChatRequest, Event

VERSION = "2023-06-01"
"""Of the API, where the client states none."""

NOT_COUNTED = frozenset(
    ("max_tokens", "stream", "temperature", "top_p", "top_k", "stop_sequences", "metadata", "service_tier")
)
"""What bounds or draws an answer; a request that is only measured has none of it."""


class _Measured(msgspec.Struct):
    input_tokens: Count


class MessagesServer:
    """`model` is the name that answers carry, `serves` the server's own, `output_tokens` the limit of a request that states
    none: the dialect demands one. Unless it `thinks`, it is not told how much it should."""

    def __init__(
        self,
        model: str,
        serves: str,
        output_tokens: int,
        now: Callable[[], float] = time.time,
        *,
        thinks: bool = True,
    ) -> None:
        self._model = model
        self._serves = serves
        self._output_tokens = output_tokens
        self._now = now
        self._thinks = thinks

    def page(self, request: ChatRequest) -> tuple[str, Mapping[str, str]]:
        """The version and the betas that the client speaks are part of what it says."""
        carries = request.native.headers if _is_native(request) and request.native is not None else {}
        return _with_query("/messages", request), carries

    def count_path(self, request: ChatRequest) -> str:
        return _with_query("/messages/count_tokens", request)

    def headers(self, secret: str) -> Mapping[str, str]:
        key = {"x-api-key": secret} if secret else {}
        return {"anthropic-version": VERSION, **key}

    def body(self, request: ChatRequest) -> bytes:
        return asked_of(request, self._serves, self._output_tokens, thinks=self._thinks)

    def reader(self, request: ChatRequest) -> MessagesRelay | MessagesAsChunks:
        if _is_native(request):
            return MessagesRelay(self._model)
        return MessagesAsChunks(self._model, shows_usage=request.include_usage, created=int(self._now()))

    def whole(self, body: bytes, request: ChatRequest) -> tuple[Event, ...]:
        if _is_native(request):
            return relayed(body, self._model)
        return as_completion(body, self._model, int(self._now()))

    def count_body(self, request: ChatRequest) -> bytes:
        if _is_native(request):
            return self.body(request)
        asked = msgspec.json.decode(self.body(request), type=dict[str, msgspec.Raw])
        return msgspec.json.encode({name: value for name, value in asked.items() if name not in NOT_COUNTED})

    def counted(self, body: bytes) -> int:
        try:
            return msgspec.json.decode(body, type=_Measured).input_tokens
        except (msgspec.DecodeError, RecursionError) as error:
            raise AnswerError(f"the upstream's count is none: {error}") from None


def _with_query(path: str, request: ChatRequest) -> str:
    return f"{path}?{request.native.query}" if request.native is not None and request.native.query else path


def _is_native(request: ChatRequest) -> bool:
    return request.native is not None and request.native.dialect == DIALECT
