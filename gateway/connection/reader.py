"""From the bytes of a connection to its requests. Knows the words of HTTP/1.1; no socket, no clock."""

from typing import Protocol

import httptools

from gateway.connection.repeat import Repeat, repeat_of
from gateway.request.head import Head

OFFER = frozenset(("connection", "upgrade", "http2-settings"))
"""What a head says of its connection: Java's client offers h2c with its first request, whatever that is."""

SPOKEN = ("1.1", "1.0")
"""Versions that the parser reads besides would be taken for one of these."""

OFTEN = (
    *("accept", "accept-encoding", "accept-language", "anthropic-version", "authorization", "connection"),
    *("content-length", "content-type", "host", "traceparent", "tracestate", "user-agent", "x-api-key"),
)
KNOWN = {form.encode(): name for name in OFTEN for form in (name, name.title())}
"""Names as most clients write them, in lower case: every request has the same."""


NO_REQUEST = b"\0"
"""Whatever comes behind it, the parser that heard it says that it is no HTTP."""


TRIES = 4
"""Heads that are kept in vain before a connection counts as one on which none comes again: tracing clients change each."""


class Hears(Protocol):
    """Who wants to know of requests."""

    def asked(self, head: Head, *, keep_alive: bool, body: bytes | None = None) -> None:
        """The head of the next request, and its `body` where all of that came with it; else that is `said` and `ended`.
        `keep_alive`: another one may follow it. What this raises becomes `httptools.HttpParserError`, and nothing is read any
        more."""
        ...

    def said(self, data: bytes) -> None:
        """More of its body."""
        ...

    def ended(self) -> None:
        """All of it."""
        ...


class Reader:
    """`awaits_head`: the request before is whole, and of the next `head_bytes` have come, if that many are not its body.
    `target` is what is known of its target. Of a body, `unsaid` bytes came since there was some of it: sizes of chunks, what
    comes behind them.

    What reads as the head before it (`repeat.py`) is told without the parser, which stands between two requests then and goes
    on standing there; so is its body, of which `_owed` bytes have not come. `_unused` heads were kept since one came again.
    """

    __slots__ = (
        "_again", "_headers", "_hears", "_is_between", "_latest", "_owed", "_parser", "_repeat", "_size", "_unused",
        "awaits_head", "head_bytes", "target", "unsaid",
    )  # fmt: skip

    def __init__(self, hears: Hears) -> None:
        self._hears = hears
        self._parser = httptools.HttpRequestParser(self)
        self._is_between = True
        self._latest: Head | None = None
        self._repeat: Repeat | None = None
        self._owed = self._unused = 0
        self._await_head()

    def feed(self, data: bytes) -> None:
        """Raises `httptools.HttpParserError` for what is no HTTP, after all requests before it."""
        if self._owed:
            return self._go_on(data)
        if self._repeat is not None and self.awaits_head:
            found = self._repeat.found_in(data)
            if found is not None:
                return self._tell_again(*found)
        return self._parse(data)

    @property
    def is_quiet(self) -> bool:
        """Nothing of a request has come that is not all of it."""
        return self.awaits_head and self._is_between

    def close(self) -> None:
        """For good: the parser knows us, and we know who hears."""
        del self._parser, self._hears, self._repeat

    # What reads as the head before

    def _tell_again(self, head: Head, body: bytes, owed: int) -> None:
        self._unused = self.head_bytes = 0
        try:
            self._hears.asked(head, keep_alive=True, body=None if owed else body)
        except Exception:
            self._repeat = None
            self._parser.feed_data(NO_REQUEST)
        if owed:
            self.awaits_head, self.target, self._owed = False, head.target, owed
            if body:
                self._hears.said(body)

    def _go_on(self, data: bytes) -> None:
        body, rest = data[: self._owed], data[self._owed :]
        self._owed -= len(body)
        self._hears.said(body)
        if not self._owed:
            self.awaits_head, self.target = True, b""
            self._hears.ended()
        if rest:
            self.feed(rest)

    # Everything else

    def _parse(self, data: bytes) -> None:
        if self.awaits_head:
            self.head_bytes += len(data)
        else:
            self.unsaid += len(data)
        was_between, self._latest = self._is_between, None
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            return self._read_without(offer, memoryview(data))
        except httptools.HttpParserError:
            self._is_between, self._repeat = False, None
            raise
        if was_between and self._latest is not None and self._unused < TRIES:
            self._repeat = repeat_of(self._latest, data)
            self._unused += 1

    def on_message_begin(self) -> None:
        self._is_between, self._repeat = False, None

    def on_url(self, url: bytes) -> None:
        self.target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        """What comes behind a body (RFC 9110 section 6.5) is nobody's, and least of all the next request's."""
        if not self.awaits_head:
            return
        self._size += len(name) + len(value)
        known = KNOWN.get(name) or name.decode("latin-1").lower()
        if known in self._headers:
            self._again.append((known, value.decode("latin-1")))
        else:
            self._headers[known] = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        parser = self._parser
        method = parser.get_method()
        if parser.should_upgrade():
            if method == b"CONNECT":
                raise ValueError("there is no way through here")
            return
        version = parser.get_http_version()
        if version not in SPOKEN:
            raise ValueError("neither HTTP/1.1 nor HTTP/1.0")
        head = Head(method, self.target, version, self._headers, self._again, self._size)
        keep_alive = version != "1.0" and parser.should_keep_alive()
        self._latest = head if keep_alive else None
        self.awaits_head = False
        self._hears.asked(head, keep_alive=keep_alive)

    def on_body(self, data: bytes) -> None:
        self.unsaid = 0
        self._hears.said(data)

    def on_message_complete(self) -> None:
        self._is_between = True
        if not self.awaits_head:
            self._await_head()
            self._hears.ended()

    def _await_head(self) -> None:
        self.awaits_head = True
        self.head_bytes = self.unsaid = 0
        self.target = b""
        self._headers: dict[str, str] = {}
        self._again: list[tuple[str, str]] = []
        self._size = 0

    def _read_without(self, offer: httptools.HttpParserUpgrade, rest: "memoryview[int]") -> None:
        """httptools leaves the body behind an offer to upgrade unread, so the head is read again without the offer."""
        while True:
            rest, head = rest[offer.args[0] :], self._without_offer()
            self._await_head()
            self._parser = httptools.HttpRequestParser(self)
            self._parser.feed_data(head)
            try:
                return self._parser.feed_data(rest)
            except httptools.HttpParserUpgrade as another:
                offer = another

    def _without_offer(self) -> bytes:
        parser = self._parser
        first = b"%b %b HTTP/%b" % (parser.get_method(), self.target, parser.get_http_version().encode())
        pairs = (*self._headers.items(), *self._again)
        lines = [f"{name}: {value}".encode("latin-1") for name, value in pairs if name not in OFFER]
        return b"\r\n".join([first, *lines, b"", b""])
