"""OpenAI's Chat Completions, as the door speaks it."""

from collections.abc import Mapping

from backends.dialects.dialect import ErrorFacts
from backends.dialects.openai_chat.request import read_chat
from backends.dialects.openai_chat.response import Completion, error_body
from backends.dialects.openai_chat.stream import Renderer
from backends.messages import ChatRequest
from backends.sse import KEEP_ALIVE


class OpenAIChat:
    name = "openai_chat"
    path = "/v1/chat/completions"
    keep_alive = KEEP_ALIVE
    read = staticmethod(read_chat)

    def stream(self, request: ChatRequest, model: str, request_id: str, created: int) -> Renderer:
        return Renderer(request, model, answer_id(request_id), created)

    def whole(self, request: ChatRequest, model: str, request_id: str, created: int) -> Completion:
        return Completion(request, model, answer_id(request_id), created)

    def status(self, error: ErrorFacts) -> int:
        return error.status

    def envelope(self, error: ErrorFacts) -> bytes:
        return error_body(error.message, type=error.type, param=error.param, code=error.code)

    def headers(self, request_id: str) -> Mapping[str, str]:
        return {}


def answer_id(request_id: str) -> str:
    """
    >>> answer_id("req_7f")
    'chatcmpl-7f'
    """
    return f"chatcmpl-{request_id.removeprefix('req_')}"
