"""A whole response from events."""

import msgspec

from backends.dialects.openai_responses.listening import Listening
from backends.dialects.openai_responses.shapes import Head
from backends.messages import ChatRequest, Event


class Response:
    """Takes the events of an answer; `body()` is the answer."""

    def __init__(self, request: ChatRequest, model: str, suffix: str, created: int) -> None:
        self._head = Head(request, model, suffix, created)
        self._heard = Listening(shows_logprobs=request.sampling.logprobs)

    def add(self, event: Event) -> None:
        self._heard.hear(event)

    def body(self) -> bytes:
        return msgspec.json.encode(self._head.ended(self._heard))
