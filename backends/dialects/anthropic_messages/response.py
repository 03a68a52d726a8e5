"""A whole message from events, and the error envelope."""

from collections.abc import Mapping
from types import MappingProxyType

import msgspec

from backends.dialects.anthropic_messages.listening import Listening
from backends.dialects.anthropic_messages.shapes import block_object, message_object, usage_object
from backends.dialects.anthropic_messages.words import DIALECT
from backends.dialects.dialect import ErrorFacts
from backends.messages import ChatRequest, Event, Whole

TYPE_OF_STATUS: Mapping[int, str] = MappingProxyType(
    {
        401: "authentication_error",
        402: "billing_error",
        403: "permission_error",
        404: "not_found_error",
        413: "request_too_large",
        429: "rate_limit_error",
        529: "overloaded_error",
    }
)
OVERLOADED = 529
"""What this dialect says where HTTP says 503."""


class Message:
    """Takes the events of an answer; `body()` is the answer. A Whole of this dialect stands for itself."""

    def __init__(self, request: ChatRequest, model: str, id: str) -> None:
        self._model = model
        self._id = id
        self._heard = Listening(request)
        self._whole: bytes | None = None

    def add(self, event: Event) -> None:
        if isinstance(event, Whole) and event.dialect == DIALECT:
            self._whole = event.body
        else:
            self._heard.hear(event)

    def body(self) -> bytes:
        if self._whole is not None:
            return self._whole
        heard = self._heard
        content = [block_object(block) for block in heard.blocks.all]
        reason = heard.stop_reason
        if reason == "tool_use" and all(block["type"] != "tool_use" for block in content):
            reason = "end_turn"
        message = message_object(self._id, self._model, content, reason, heard.stop_sequence)
        return msgspec.json.encode({**message, "usage": usage_object(heard.usage)})


def status_of(error: ErrorFacts) -> int:
    return OVERLOADED if error.status == 503 and error.type == "overloaded_error" else error.status


def error_body(error: ErrorFacts) -> bytes:
    """
    >>> error_body(ErrorFacts(message="no", status=404, type="invalid_request_error", request_id="req_1"))
    b'{"type":"error","error":{"type":"not_found_error","message":"no"},"request_id":"req_1"}'
    """
    status = status_of(error)
    type = TYPE_OF_STATUS.get(status) or ("api_error" if status >= 500 else "invalid_request_error")
    told = {"type": type, "message": error.message}
    return msgspec.json.encode({"type": "error", "error": told, "request_id": error.request_id or None})
