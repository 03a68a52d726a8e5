"""Neutral events, and Chat Completions from servers behind HTTP, as blocks, a stop reason and usage."""

from backends.dialects.anthropic_messages.blocks import Blocks
from backends.dialects.openai_chat.said import said
from backends.messages import ChatRequest, Delta, Event, Finish, ToolCall, Usage, Whole, Wire

STOP_REASONS = {"length": "max_tokens", "content_filter": "refusal"}
"""Every other end is the model's own."""


class Listening:
    """What one answer has said. Of several choices only the first is heard; this dialect knows no others.

    Of the request's stop sequences not every server tells which of them ended its answer. What was thought is left out where
    the client wants it so.
    """

    def __init__(self, request: ChatRequest) -> None:
        self._stop = request.stop
        self._hides_thinking = request.thinking is not None and request.thinking.is_hidden
        self.blocks = Blocks()
        self.usage = Usage(0, 0)
        self._stopped_by = ""
        self._finish = ""
        self._refused = False

    def hear(self, event: Event) -> None:
        if isinstance(event, Wire):
            self._read(event.data)
        elif isinstance(event, Whole):
            self._read(event.body)
        elif isinstance(event, Delta):
            self.blocks.say("text", event.text)
        elif isinstance(event, ToolCall):
            self.blocks.call(event.place, event.id, event.name, event.arguments)
        elif isinstance(event, Finish):
            self._finish = event.reason
            self._stopped_by = event.stopped_by
        elif isinstance(event, Usage):
            self.usage = event

    @property
    def stop_reason(self) -> str:
        """An answer with calls was ended by them, also where the client forced the function and the server says `stop`."""
        if self._finish in STOP_REASONS:
            return STOP_REASONS[self._finish]
        if self._refused:
            return "refusal"
        if any(block.kind == "tool_use" for block in self.blocks.all):
            return "tool_use"
        return "stop_sequence" if self._stopped_by else "end_turn"

    @property
    def stop_sequence(self) -> str | None:
        return self._stopped_by if self.stop_reason == "stop_sequence" else None

    def _read(self, data: bytes) -> None:
        words = said(data)
        if not self._hides_thinking:
            self.blocks.say("thinking", words.reasoning)
        self.blocks.say("text", words.text)
        self.blocks.say("text", words.refusal)
        for part in words.calls:
            self.blocks.call(part.place, part.id, part.name, part.arguments)
        self._refused = self._refused or bool(words.refusal)
        self._finish = words.finish or self._finish
        if words.finish == "stop" and words.stop in self._stop:
            self._stopped_by = words.stop
