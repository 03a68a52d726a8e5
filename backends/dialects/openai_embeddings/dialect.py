"""OpenAI's Embeddings, as the door speaks it."""

from collections.abc import Mapping

from backends.dialects.dialect import ErrorFacts, StreamWriter
from backends.dialects.openai_chat.response import error_body
from backends.dialects.openai_embeddings.request import read_embeddings
from backends.messages import ChatRequest, Event, Whole


class Vectors:
    """The answer of the upstream, as it came."""

    def __init__(self) -> None:
        self._body = b""

    def add(self, event: Event) -> None:
        if isinstance(event, Whole):
            self._body = event.body

    def body(self) -> bytes:
        return self._body


class OpenAIEmbeddings:
    name = "openai_embeddings"
    path = "/v1/embeddings"
    keep_alive = b""

    def read(self, raw: bytes) -> ChatRequest:
        return read_embeddings(raw)

    def stream(self, request: ChatRequest, model: str, request_id: str, created: int) -> StreamWriter:
        raise TypeError("embeddings come in one piece: no request that `read` gives is streamed")

    def whole(self, request: ChatRequest, model: str, request_id: str, created: int) -> Vectors:
        return Vectors()

    def status(self, error: ErrorFacts) -> int:
        return error.status

    def envelope(self, error: ErrorFacts) -> bytes:
        return error_body(error.message, type=error.type, param=error.param, code=error.code)

    def headers(self, request_id: str) -> Mapping[str, str]:
        return {}
