"""What a remote replica needs of the dialect that its server speaks: how to ask, and how to read what comes back."""

from collections.abc import Mapping, Sequence
from typing import Protocol, runtime_checkable

from backends.messages import ChatRequest, Event


class StreamReader(Protocol):
    """One streamed answer: `push` the data of each event, then `tail()` once it is over and `is_whole`.

    `said_done`: the server has said that nothing follows.
    """

    @property
    def said_done(self) -> bool: ...

    @property
    def is_whole(self) -> bool: ...

    def push(self, data: bytes) -> Sequence[Event]:
        """Raises `AnswerError` for what is no event of the dialect, `ReportedError` for an error that it tells."""
        ...

    def tail(self) -> Sequence[Event]: ...


class ServerDialect(Protocol):
    """One kind of server. Paths lie below the base of the API."""

    def page(self, request: ChatRequest) -> tuple[str, Mapping[str, str]]:
        """Where the request goes, and the headers that it carries beside those of every one."""
        ...

    def headers(self, secret: str) -> Mapping[str, str]:
        """What every request carries. `secret` is the key, or ""."""
        ...

    def body(self, request: ChatRequest) -> bytes:
        """Raises `RequestFault` where the dialect has no words for the request."""
        ...

    def reader(self, request: ChatRequest) -> StreamReader: ...

    def whole(self, body: bytes, request: ChatRequest) -> Sequence[Event]:
        """An answer in one piece. Raises as `StreamReader.push` does."""
        ...


@runtime_checkable
class CountsPrompts(Protocol):
    """A dialect in which a server can be asked how long a prompt is."""

    def count_path(self, request: ChatRequest) -> str: ...

    def count_body(self, request: ChatRequest) -> bytes:
        """Raises `RequestFault`."""
        ...

    def counted(self, body: bytes) -> int:
        """The length that the server told. Raises `AnswerError`."""
        ...
