"""A server's stream as chunks of Chat Completions, from which clients of every other dialect are written to.

There is one choice, whatever the number of blocks; tool calls are numbered among themselves. Thinking is
`reasoning_content`; its signature has no place there. The usage chunk comes at the end, to those who asked.
"""

from dataclasses import dataclass
from itertools import count
from typing import Any

import msgspec

from backends.dialects.anthropic_messages.server.counted import Counted, told_error
from backends.dialects.anthropic_messages.server.events import FINISHES, Block, Piece, StreamEvent, met, read_event
from backends.dialects.openai_chat.shapes import in_utf8, usage_object
from backends.messages import Event, FinishReason, Wire

Delta = dict[str, Any]


@dataclass(slots=True)
class _Call:
    """A call by its number among the calls. `whole` is the input that its block began with, `told` whether any was streamed."""

    place: int
    whole: str
    told: bool = False


class MessagesAsChunks:
    """One stream. `created` is in seconds of the epoch."""

    def __init__(self, model: str, *, shows_usage: bool, created: int) -> None:
        self._head = {"id": "", "object": "chat.completion.chunk", "created": created, "model": model}
        self._shows_usage = shows_usage
        self._counted = Counted()
        self._has_role = False
        self._calls: dict[int, _Call] = {}
        self._places = count()
        self.said_done = False
        self.is_whole = False

    def push(self, data: bytes) -> list[Event]:
        """Raises AnswerError, and ReportedError for an `error` event."""
        if not data or self.said_done:
            return []
        event = read_event(in_utf8(data))
        if event.type == "error":
            raise told_error(bytes(event.error) or b"null")
        if event.type == "message_start" and event.message is not None:
            self._head["id"] = event.message.id
            self._counted.take(bytes(event.message.usage))
        elif event.type == "content_block_start" and event.content_block is not None:
            return self._began(event.index, event.content_block)
        elif event.type == "content_block_delta" and event.delta is not None:
            return self._said(event.index, event.delta)
        elif event.type == "content_block_stop":
            return self._closed(event.index)
        elif event.type == "message_delta":
            return self._ended(event)
        elif event.type == "message_stop":
            self.said_done = True
        return []

    def tail(self) -> list[Event]:
        usage = self._counted.usage
        if usage is None:
            return []
        if not self._shows_usage:
            return [usage]
        last = {**self._head, "choices": [], "usage": usage_object(usage)}
        return [Wire(msgspec.json.encode(last)), usage]

    def _began(self, index: int, block: Block) -> list[Event]:
        if block.type != "tool_use":
            return self._words(block.text, block.thinking)
        whole = bytes(block.input)
        call = self._calls[index] = _Call(next(self._places), "{}" if whole in (b"", b"null") else whole.decode())
        return [self._call(call, {"name": block.name, "arguments": ""}, id=block.id, type="function")]

    def _said(self, index: int, piece: Piece) -> list[Event]:
        if piece.type != "input_json_delta":
            return self._words(piece.text, piece.thinking)
        call = self._calls.get(index)
        if call is None or not piece.partial_json:
            return []
        call.told = True
        return [self._call(call, {"arguments": piece.partial_json})]

    def _closed(self, index: int) -> list[Event]:
        """A call whose input nobody streamed has the one that its block began with."""
        call = self._calls.get(index)
        if call is None or call.told:
            return []
        call.told = True
        return [self._call(call, {"arguments": call.whole})]

    def _ended(self, event: StreamEvent) -> list[Event]:
        self._counted.take(bytes(event.usage))
        delta = event.delta
        if delta is None or delta.stop_reason is None or self.is_whole:
            return []
        self.is_whole = True
        return [self._chunk({}, FINISHES.get(delta.stop_reason, "stop"), met(delta.stop_sequence))]

    def _words(self, text: str, thinking: str) -> list[Event]:
        delta = {"content": text} if text else {"reasoning_content": thinking} if thinking else None
        return [] if delta is None else [self._chunk(delta)]

    def _call(self, call: _Call, function: Delta, **head: str) -> Wire:
        return self._chunk({"tool_calls": [{"index": call.place, **head, "function": function}]})

    def _chunk(self, delta: Delta, finish: FinishReason | None = None, met: Delta | None = None) -> Wire:
        shown = delta if self._has_role else {"role": "assistant", **delta}
        counted = None if self._has_role and finish is None else self._counted.usage
        self._has_role = True
        usage = {"usage": None} if self._shows_usage else {}
        choice = {"index": 0, "delta": shown, "finish_reason": finish, **(met or {})}
        data = msgspec.json.encode({**self._head, "choices": [choice], **usage})
        return Wire(data, speaks=bool(delta), finishes=finish is not None, counted=counted)
