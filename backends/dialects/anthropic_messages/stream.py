"""Events in, event-stream bytes out: the events of a message that a client reads."""

from typing import Any

import msgspec

from backends.dialects.anthropic_messages.blocks import Block
from backends.dialects.anthropic_messages.listening import Listening
from backends.dialects.anthropic_messages.shapes import delta_of, message_object, opening_of, usage_object
from backends.dialects.anthropic_messages.words import DIALECT
from backends.messages import ChatRequest, Event, Usage, Wire
from backends.sse import encode


class _Typed(msgspec.Struct):
    type: str = ""


class Renderer:
    """State of one stream. One block is open at a time; what comes for a later one waits until it may open.

    The message ends in `end()`, not where the upstream tells its reason: usage comes after that. Events of a server of this
    dialect pass as they are.
    """

    def __init__(self, request: ChatRequest, model: str, id: str) -> None:
        self._model = model
        self._id = id
        self._prompt_tokens = request.counted_tokens
        self._heard = Listening(request)
        self._relays = False
        self._begun = False
        self._at = 0
        self._is_open = False
        self._over = False

    def render(self, event: Event) -> bytes:
        """Bytes for the client; empty when this event shows nothing."""
        if isinstance(event, Wire) and event.dialect == DIALECT:
            return self._relay(event.data)
        if self._relays:
            return b""
        self._heard.hear(event)
        return self._advance(last=False)

    def end(self) -> bytes:
        """The open block, the reason, usage and `message_stop`, once."""
        if self._over:
            return b""
        self._over = True
        if self._relays:
            return _event("message_stop")
        shown = self._advance(last=True)
        heard = self._heard
        delta = {"stop_reason": heard.stop_reason, "stop_sequence": heard.stop_sequence}
        ending = _event("message_delta", delta=delta, usage=usage_object(heard.usage))
        return self._start() + shown + ending + _event("message_stop")

    def error(self, body: bytes) -> bytes:
        """An error event with this envelope, and nothing after it."""
        if self._over:
            return b""
        self._over = True
        return encode(body, b"error")

    def _relay(self, data: bytes) -> bytes:
        self._relays = True
        type = msgspec.json.decode(data, type=_Typed).type
        self._over = self._over or type == "message_stop"
        return encode(data, type.encode() if type.isprintable() else b"")

    def _start(self) -> bytes:
        """The prompt's length is told where the model's own tokenizer has counted it; elsewhere it is 0 until the end."""
        if self._begun:
            return b""
        self._begun = True
        message = message_object(self._id, self._model, [], None, None)
        return _event("message_start", message={**message, "usage": usage_object(Usage(self._prompt_tokens, 0))})

    def _advance(self, *, last: bool) -> bytes:
        """As far as the blocks go: opened, told and closed one after the other."""
        shown: list[bytes] = []
        blocks = self._heard.blocks.all
        while self._at < len(blocks):
            block, is_newest = blocks[self._at], self._at == len(blocks) - 1
            if not self._is_open and not (block.may_open or last):
                break
            shown += self._tell(block)
            if not last and (is_newest or not block.may_close):
                break
            shown.append(_event("content_block_stop", index=self._at))
            self._is_open = False
            self._at += 1
        return b"".join((self._start(), *shown)) if blocks else b""

    def _tell(self, block: Block) -> list[bytes]:
        events = []
        if not self._is_open:
            self._is_open = True
            events.append(_event("content_block_start", index=self._at, content_block=opening_of(block)))
        piece = "".join(block.pieces.all[block.shown :])
        block.shown = len(block.pieces.all)
        if piece:
            events.append(_event("content_block_delta", index=self._at, delta=delta_of(block.kind, piece)))
        return events


def _event(type: str, **fields: Any) -> bytes:
    return encode(msgspec.json.encode({"type": type, **fields}), type.encode())
