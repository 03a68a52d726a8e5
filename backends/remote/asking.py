"""The requests that one server is sent: where they go, with which headers. What they have in common is put together once."""

from collections.abc import Mapping
from typing import Protocol

import msgspec

from backends.messages import ChatRequest
from backends.remote.address import api_base
from backends.remote.dialect import ServerDialect
from backends.transport import HttpRequest
from backends.transport.interface import opening_of
from backends.upstream import UpstreamCall

USER_AGENT = "turnout"

MOST_KEPT = 16
"""Heads: one for each path and kind of answer. A path with the client's query is not kept, for there may be any number."""


class Key(Protocol):
    """A secret that cannot be printed by accident."""

    def reveal(self) -> str: ...


class Head(msgspec.Struct, frozen=True):
    """What requests of one kind have in common. `opening` is all of it as bytes."""

    path: str
    headers: tuple[tuple[str, str], ...]
    names: frozenset[str]
    opening: bytes

    def __repr__(self) -> str:
        return f"Head({self.path})"


class Asking:
    """The key goes to the origin of `at` and nowhere else. `salt_field` of the body says whose caches a prompt is looked up in,
    where the server has such a field. Raises ValueError when `at` is no http(s) address."""

    def __init__(self, at: str, dialect: ServerDialect, key: Key | None, salt_field: str = "") -> None:
        self.origin, self.base = api_base(at)
        self._dialect = dialect
        self._key = key
        self._salt_field = salt_field
        self._kept: dict[tuple[str, bool], Head] = {}

    @property
    def secret(self) -> str:
        return self._key.reveal() if self._key is not None else ""

    def headers(self) -> dict[str, str]:
        """The set starts empty: nothing of the client's own headers is here, but those that its dialect carries."""
        return {"user-agent": USER_AGENT, "accept-encoding": "identity", **self._dialect.headers(self.secret)}

    def get(self, target: str, accept: str) -> HttpRequest:
        headers = {**self.headers(), "accept": accept}
        return HttpRequest("GET", self.origin, target, tuple(headers.items()))

    def post(self, target: str, body: bytes) -> HttpRequest:
        """Of a page beside the API."""
        headers = {**self.headers(), "accept": "application/json", "content-type": "application/json"}
        return HttpRequest("POST", self.origin, target, tuple(headers.items()), body)

    def ask(self, call: UpstreamCall) -> HttpRequest:
        """The call in the server's dialect, with what its headers have beside our own. Raises `RequestFault` where the dialect
        has no words for the request."""
        request, more = call.request, call.headers
        body = self._dialect.body(request)
        if self._salt_field and call.prepared.salt:
            body = salted(body, self._salt_field, call.prepared.salt)
        path, its_own = self._dialect.page(request)
        head = self._head(path, request, its_own) if its_own else self._kept.get((path, request.stream))
        if head is None:
            head = self._keep(path, request)
        if not head.names.isdisjoint(more):
            more = {name: value for name, value in more.items() if name not in head.names}
        return HttpRequest("POST", self.origin, head.path, head.headers, body, more, head.opening)

    def question(self, path: str, request: ChatRequest, body: bytes) -> HttpRequest:
        """Of another page below the base of the API, about the same request."""
        head = self._head(path, request, self._dialect.page(request)[1])
        return HttpRequest("POST", self.origin, head.path, head.headers, body, opening=head.opening)

    def _keep(self, path: str, request: ChatRequest) -> Head:
        head = self._head(path, request, {})
        if len(self._kept) < MOST_KEPT and "?" not in path:
            self._kept[path, request.stream] = head
        return head

    def _head(self, path: str, request: ChatRequest, its_own: Mapping[str, str]) -> Head:
        accept = "text/event-stream" if request.stream else "application/json"
        headers = {**self.headers(), **its_own, "content-type": "application/json", "accept": accept}
        path, lines = f"{self.base}{path}", tuple(headers.items())
        return Head(path, lines, frozenset(headers), opening_of("POST", self.origin, path, lines))


def checked(key: Key | None, model: str) -> Key | None:
    """Raises ValueError when no header could carry the key."""
    text = key.reveal() if key is not None else ""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"the key of model {model} holds characters that a header cannot carry")
    return key


def salted(body: bytes, field: str, salt: bytes) -> bytes:
    """The same object with one more field, which of several of its name is the one that counts.

    >>> salted(b'{"a":1}', "cache_salt", b"s")
    b'{"a":1,"cache_salt":"73"}'
    """
    return b'%b,"%b":"%b"}' % (body.rstrip()[:-1], field.encode(), salt.hex().encode())
