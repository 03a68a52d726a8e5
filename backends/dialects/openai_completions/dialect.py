"""OpenAI's older Completions, as the door speaks it."""

from collections.abc import Mapping

from backends.dialects.dialect import ErrorFacts
from backends.dialects.openai_chat.response import error_body
from backends.dialects.openai_completions.request import read_completions
from backends.dialects.openai_completions.response import Completion
from backends.dialects.openai_completions.stream import Renderer
from backends.messages import ChatRequest
from backends.sse import KEEP_ALIVE


class OpenAICompletions:
    name = "openai_completions"
    path = "/v1/completions"
    keep_alive = KEEP_ALIVE

    def read(self, raw: bytes) -> ChatRequest:
        return read_completions(raw)

    def stream(self, request: ChatRequest, model: str, request_id: str, created: int) -> Renderer:
        return Renderer(request, model, answer_id(request_id), created)

    def whole(self, request: ChatRequest, model: str, request_id: str, created: int) -> Completion:
        return Completion(request, model, answer_id(request_id), created)

    def status(self, error: ErrorFacts) -> int:
        return error.status

    def envelope(self, error: ErrorFacts) -> bytes:
        param = "prompt" if (error.param or "").startswith("messages") else error.param
        return error_body(error.message, type=error.type, param=param, code=error.code)

    def headers(self, request_id: str) -> Mapping[str, str]:
        return {}


def answer_id(request_id: str) -> str:
    """
    >>> answer_id("req_7f")
    'cmpl-7f'
    """
    return f"cmpl-{request_id.removeprefix('req_')}"
