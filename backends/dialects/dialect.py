"""What a wire format must be able to do for clients to be spoken to in it. Each folder beside this file is one."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from backends.messages import ChatRequest, Event


class ErrorFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One failure, for any envelope. `type` and `code` are in OpenAI's words, of which there are the most. `elsewhere`: it was
    not found in the client's own body, so `param` is a field of Chat Completions, and so may be the first word of `message`."""

    message: str
    status: int
    type: str
    param: str | None = None
    code: str | None = None
    request_id: str = ""
    elsewhere: bool = False


class StreamWriter(Protocol):
    """State of one event stream. What it returns is whole events, or nothing.

    Wire is in Chat Completions, or in the dialect of the writer where the request was kept as `native`.
    """

    def render(self, event: Event) -> bytes: ...

    def end(self) -> bytes:
        """The end of a whole answer, once."""
        ...

    def error(self, body: bytes) -> bytes:
        """An error event with this envelope, and the end: it never looks like success."""
        ...


class WholeWriter(Protocol):
    """Takes the events of an answer; `body()` is the answer in one piece. Of Whole holds what StreamWriter says of Wire."""

    def add(self, event: Event) -> None: ...

    def body(self) -> bytes: ...


class Dialect(Protocol):
    """One way to ask for a chat and to be answered. `keep_alive` may stand between any two events of a stream.

    `created`, in seconds of the epoch, is the same for all attempts of one request.
    """

    @property
    def name(self) -> str: ...

    @property
    def path(self) -> str: ...

    @property
    def keep_alive(self) -> bytes: ...

    def read(self, raw: bytes) -> ChatRequest:
        """Raises `backends.dialects.faults.RequestFault`, and nothing else, whatever the bytes are."""
        ...

    def stream(self, request: ChatRequest, model: str, request_id: str, created: int) -> StreamWriter: ...

    def whole(self, request: ChatRequest, model: str, request_id: str, created: int) -> WholeWriter: ...

    def status(self, error: ErrorFacts) -> int:
        """Of the answer that the error is."""
        ...

    def envelope(self, error: ErrorFacts) -> bytes: ...

    def headers(self, request_id: str) -> Mapping[str, str]:
        """What clients of this dialect look for on every answer."""
        ...
