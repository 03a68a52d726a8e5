"""OpenAI's Responses, as the door speaks it."""

from collections.abc import Mapping

from backends.dialects.dialect import ErrorFacts
from backends.dialects.openai_chat.response import error_body
from backends.dialects.openai_responses.request import read_responses
from backends.dialects.openai_responses.response import Response
from backends.dialects.openai_responses.shapes import own_words
from backends.dialects.openai_responses.stream import Renderer
from backends.messages import ChatRequest
from backends.sse import KEEP_ALIVE


class OpenAIResponses:
    name = "openai_responses"
    path = "/v1/responses"
    keep_alive = KEEP_ALIVE

    def read(self, raw: bytes) -> ChatRequest:
        return read_responses(raw)

    def stream(self, request: ChatRequest, model: str, request_id: str, created: int) -> Renderer:
        return Renderer(request, model, suffix_of(request_id), created)

    def whole(self, request: ChatRequest, model: str, request_id: str, created: int) -> Response:
        return Response(request, model, suffix_of(request_id), created)

    def status(self, error: ErrorFacts) -> int:
        return error.status

    def envelope(self, error: ErrorFacts) -> bytes:
        message, param = own_words(error)
        return error_body(message, type=error.type, param=param, code=error.code)

    def headers(self, request_id: str) -> Mapping[str, str]:
        return {}


def suffix_of(request_id: str) -> str:
    """
    >>> suffix_of("req_7f")
    '7f'
    """
    return request_id.removeprefix("req_")
