"""Events in, event-stream bytes out: the stream of text_completion that a client reads."""

import msgspec

from backends.dialects.openai_chat.shapes import fingerprint, usage_object
from backends.dialects.openai_chat.stream import DONE
from backends.dialects.openai_completions.choices import Choices, Shape, choice_object
from backends.messages import ChatRequest, Delta, Event, Finish, Usage, Wire
from backends.sse import encode


class Renderer:
    """State of one stream. Events of a server pass as they are, and its usage is then for the books alone.

    Usage is shown only to those who asked, in one chunk with empty choices.
    """

    def __init__(self, request: ChatRequest, model: str, id: str, created: int) -> None:
        head = {"id": id, "object": "text_completion", "created": created, "model": model}
        self._head = {**head, "system_fingerprint": fingerprint(model)}
        self._choices = Choices(request)
        self._shows_usage = request.include_usage
        self._begun: set[int] = set()
        self._relays = False
        self._over = False

    def render(self, event: Event) -> bytes:
        """Bytes for the client; empty when this event shows nothing."""
        if isinstance(event, Wire):
            self._relays = True
            return encode(event.data)
        if isinstance(event, Delta):
            logprobs = self._choices.logprobs(event.index, event.logprobs)
            return self._choice(event.index, event.text, logprobs, None) if event.text or logprobs else b""
        if isinstance(event, Finish):
            return self._choice(event.index, "", None, event.reason)
        if isinstance(event, Usage) and self._shows_usage and not self._relays:
            return self._chunk(choices=[], usage=usage_object(event))
        return b""

    def end(self) -> bytes:
        """`[DONE]`, once."""
        if self._over:
            return b""
        self._over = True
        return DONE

    def error(self, body: bytes) -> bytes:
        """An error event with this envelope, then `[DONE]`: no finish is invented."""
        return b"" if self._over else encode(body) + self.end()

    def _choice(self, index: int, text: str, logprobs: Shape | None, reason: str | None) -> bytes:
        if index not in self._begun:
            self._begun.add(index)
            text = self._choices.beginning(index) + text
        usage = {"usage": None} if self._shows_usage else {}
        return self._chunk(choices=[choice_object(index, text, logprobs, reason)], **usage)

    def _chunk(self, **fields: object) -> bytes:
        return encode(msgspec.json.encode({**self._head, **fields}))
