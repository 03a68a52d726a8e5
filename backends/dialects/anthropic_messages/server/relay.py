"""A server's own stream for a client of the same dialect: every event as it came, read only for the books.

What routing must change is the name of the model in `message_start`. Nothing follows `message_stop`, and there is none
behind a message that has no reason to have ended.
"""

import msgspec

from backends.dialects.anthropic_messages.server.counted import Counted, told_error
from backends.dialects.anthropic_messages.server.events import (
    FINISHES,
    Start,
    StreamEvent,
    fields_of,
    read_event,
    speaks,
)
from backends.dialects.anthropic_messages.words import DIALECT
from backends.dialects.openai_chat.shapes import in_utf8
from backends.dialects.openai_chat.whole import AnswerError
from backends.messages import Event, Finish, Wire


class MessagesRelay:
    """One stream. `model` is the name that the client knows."""

    def __init__(self, model: str) -> None:
        self._model = msgspec.Raw(msgspec.json.encode(model))
        self._counted = Counted()
        self._begun = False
        self.said_done = False
        self.is_whole = False

    def push(self, data: bytes) -> list[Event]:
        """Raises AnswerError, and ReportedError for an `error` event."""
        data = in_utf8(data)
        if not data or self.said_done:
            return []
        event = read_event(data)
        if event.type == "error":
            raise told_error(bytes(event.error) or b"null")
        if event.type == "message_start" and event.message is not None:
            return self._beginning(data, event.message)
        if not self._begun and event.type != "ping":
            raise AnswerError("the upstream's message has no message_start")
        if event.type == "message_delta":
            return self._ending(data, event)
        if event.type == "message_stop":
            self.said_done = True
            return [Wire(data, dialect=DIALECT)] if self.is_whole else []
        return [Wire(data, speaks(event), dialect=DIALECT)]

    def tail(self) -> list[Event]:
        usage = self._counted.usage
        return [] if usage is None else [usage]

    def _beginning(self, data: bytes, message: Start) -> list[Event]:
        """A message begins once, whatever its server says: clients' libraries break at a second beginning."""
        self._counted.take(bytes(message.usage))
        if self._begun:
            return []
        self._begun = True
        return [Wire(self._named(data), dialect=DIALECT, counted=self._counted.usage)]

    def _named(self, data: bytes) -> bytes:
        fields = fields_of(data)
        message = {**fields_of(bytes(fields["message"])), "model": self._model}
        return msgspec.json.encode({**fields, "message": message})

    def _ending(self, data: bytes, event: StreamEvent) -> list[Event]:
        self._counted.take(bytes(event.usage))
        reason = event.delta.stop_reason if event.delta is not None else None
        if reason is None:
            return [Wire(data, dialect=DIALECT, counted=self._counted.usage)]
        self.is_whole = True
        ending = Wire(data, finishes=True, dialect=DIALECT, counted=self._counted.usage)
        return [ending, Finish(FINISHES.get(reason, "stop"))]
