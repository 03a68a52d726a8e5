"""Step 1: from a head to a body of known size, read in bounded time. Refuses early, before anything is parsed."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from gateway.errors import BadEncoding, BadRequest, HeadersTooLarge, Left, SlowRequest, TooLarge
from gateway.request.head import Head
from gateway.settings import Limits

Scope = MutableMapping[str, Any]
AsgiEvent = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[AsgiEvent]]
Send = Callable[[AsgiEvent], Awaitable[None]]

ONLY_BRACKETS = bytes(set(range(256)) - set(b'"[]{}'))
PEELS = 4
"""Each pass over the brackets takes the innermost pairs away, and so one level of depth, without a loop in Python."""

HOST_FORBIDS = frozenset("/?#@\\ \t")

PLAIN_CODINGS = frozenset(("", "identity"))
"""Names of codings know no case (RFC 9110 section 8.4.1)."""


def refuse_early(head: Head, limits: Limits) -> None:
    """What the head alone gives away. Raises HeadersTooLarge, BadRequest, BadEncoding, TooLarge."""
    passed = head.passed
    if passed.limits is not limits or head.size > limits.header_bytes:
        refuse_words(head, limits)
        passed.limits = limits
    declared = head.headers.get("content-length", "")
    if declared.isdigit() and int(declared) > limits.body_bytes:
        raise too_large(limits)


def refuse_words(head: Head, limits: Limits) -> None:
    """All that does not hang on the length of the body. Raises HeadersTooLarge, BadRequest, BadEncoding."""
    headers = head.headers
    if head.count > limits.headers:
        raise HeadersTooLarge(f"There are {head.count} headers; {limits.headers} are allowed.")
    if head.size > limits.header_bytes:
        raise HeadersTooLarge(f"The headers have {head.size} bytes; {limits.header_bytes} are allowed.")
    host = headers.get("host")
    if host is None or head.again or not HOST_FORBIDS.isdisjoint(host):
        refuse_host(head)
    if "content-encoding" in headers and headers["content-encoding"].lower() not in PLAIN_CODINGS:
        raise BadEncoding("A compressed body is not accepted.")


def refuse_host(head: Head) -> None:
    """RFC 9112 section 3.2: exactly one, since HTTP/1.1, and a host name. Raises BadRequest."""
    host = head.headers.get("host")
    if (host is None and head.version == "1.1") or (head.again and head.has_again("host")):
        raise BadRequest("A request has one Host header.")
    if host is not None and not HOST_FORBIDS.isdisjoint(host):
        raise BadRequest("The Host header is not a host name.")


def too_large(limits: Limits) -> TooLarge:
    return TooLarge(f"The body is larger than the limit of {limits.body_bytes} bytes.")


async def read_body(receive: Receive, limits: Limits) -> bytes:
    """The whole body. Raises TooLarge (also for chunked bodies), SlowRequest, Left."""
    try:
        async with asyncio.timeout(limits.body_read_s) as deadline:
            return await _collect(receive, limits, deadline)
    except TimeoutError:
        raise SlowRequest(
            f"The body did not arrive within {limits.body_read_s:g} s and a second more for every "
            f"{limits.body_bytes_per_s} bytes of it."
        ) from None


async def _collect(receive: Receive, limits: Limits, deadline: asyncio.Timeout) -> bytes:
    """Every part that comes earns the next one its time."""
    parts: list[bytes] = []
    size, until = 0, deadline.when()
    assert until is not None
    while True:
        event = await receive()
        if event["type"] != "http.request":
            raise Left("The client left while it sent its body.")
        parts.append(event.get("body", b""))
        size += len(parts[-1])
        if size > limits.body_bytes:
            raise too_large(limits)
        if not event.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)
        deadline.reschedule(until + size / limits.body_bytes_per_s)


def refuse_deep(body: bytes, limit: int) -> None:
    """Bound the nesting before a recursive parser sees it, at the speed of `bytes.count` for ordinary bodies.

    Raises BadRequest. Text that is not JSON may pass: the parser says what is wrong with it.
    """
    if has_few(body, limit):
        return
    skeleton = body.replace(b"\\\\", b"").replace(b'\\"', b"").translate(None, ONLY_BRACKETS)
    brackets = b"".join(skeleton.split(b'"')[::2])
    peels = min(PEELS, limit)
    for _ in range(peels):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    if is_deeper(brackets, limit - peels):
        raise BadRequest(f"The body nests deeper than {limit} levels.")


def has_few(body: bytes, limit: int) -> bool:
    """Whether there are at most `limit` brackets that open. Looking for one after the other is much faster than counting, which
    reads byte by byte.

    >>> has_few(b'[{"a":[]}]', 3), has_few(b'[{"a":[]}]', 2)
    (True, False)
    """
    left = limit
    for bracket in b"[{":
        at = body.find(bracket)
        while at >= 0:
            left -= 1
            if left < 0:
                return False
            at = body.find(bracket, at + 1)
    return True


def is_deeper(brackets: bytes, limit: int) -> bool:
    """
    >>> is_deeper(b"[{}]", 1), is_deeper(b"[{}]", 2)
    (True, False)
    """
    depth = 0
    for bracket in brackets:
        depth += 1 if bracket in b"[{" else -1
        if depth > limit:
            return True
        if depth < 0:
            return False
    return False
