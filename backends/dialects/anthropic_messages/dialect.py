"""Anthropic's Messages, as the door speaks it."""

from collections.abc import Mapping

from backends.dialects.anthropic_messages.request import read_messages
from backends.dialects.anthropic_messages.response import Message, error_body, status_of
from backends.dialects.anthropic_messages.stream import Renderer
from backends.dialects.dialect import ErrorFacts
from backends.messages import ChatRequest


class AnthropicMessages:
    name = "anthropic"
    path = "/v1/messages"
    keep_alive = b'event: ping\ndata: {"type":"ping"}\n\n'

    def read(self, raw: bytes) -> ChatRequest:
        return read_messages(raw)

    def stream(self, request: ChatRequest, model: str, request_id: str, created: int) -> Renderer:
        return Renderer(request, model, answer_id(request_id))

    def whole(self, request: ChatRequest, model: str, request_id: str, created: int) -> Message:
        return Message(request, model, answer_id(request_id))

    def status(self, error: ErrorFacts) -> int:
        return status_of(error)

    def envelope(self, error: ErrorFacts) -> bytes:
        return error_body(error)

    def headers(self, request_id: str) -> Mapping[str, str]:
        return {"request-id": request_id} if request_id else {}


def answer_id(request_id: str) -> str:
    """
    >>> answer_id("req_7f")
    'msg_7f'
    """
    return f"msg_{request_id.removeprefix('req_')}"
