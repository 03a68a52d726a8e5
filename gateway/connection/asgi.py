"""What serves a request by way of an ASGI application: the pages, and whatever else is not the hot path."""

import asyncio
from collections.abc import Awaitable, Callable
from urllib.parse import unquote

import httptools

from gateway.connection.caller import Caller
from gateway.request.client import CLIENT, Asker
from gateway.request.head import Head
from gateway.request.ingress import AsgiEvent, Receive, Scope, Send

App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Asgi:
    """One request for an application. Its scope is made at once: raises `httptools.HttpParserError` for a target that is
    none."""

    __slots__ = ("_app", "_caller", "_scope")

    def __init__(self, app: App, caller: Caller, transport: asyncio.Transport) -> None:
        self._app = app
        self._caller = caller
        self._scope = {**place_of(transport), **asked_of(caller.head), "extensions": {CLIENT: caller}}

    async def attend(self, caller: Asker) -> None:
        await self._app(self._scope, caller.receive, self._send)

    async def _send(self, message: AsgiEvent) -> None:
        caller = self._caller
        await caller.room()
        if caller.is_over:
            raise RuntimeError("the answer was whole before")
        if message["type"] == "http.response.start":
            caller.begin(message["status"], joined(message["headers"]))
        else:
            body = b"" if caller.head.method == b"HEAD" else message.get("body", b"")
            caller.write(body, more=message.get("more_body", False))


def place_of(transport: asyncio.Transport) -> Scope:
    server, client = transport.get_extra_info("sockname"), transport.get_extra_info("peername")
    return {"scheme": "http", "root_path": "", "server": server[:2], "client": client[:2]}


def asked_of(head: Head) -> Scope:
    url = httptools.parse_url(head.target)
    return {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": head.version,
        "method": head.method.decode("ascii"),
        "path": unquote(url.path.decode("ascii")),
        "raw_path": url.path,
        "query_string": url.query or b"",
        "headers": head.lines(),
    }


def joined(headers: list[tuple[bytes, bytes]]) -> dict[str, str]:
    """By lower-case name; what is said in several lines may be said in one (RFC 9110 section 5.3).

    >>> joined([(b"Vary", b"origin"), (b"vary", b"accept")])
    {'vary': 'origin, accept'}
    """
    found: dict[str, str] = {}
    for raw, value in headers:
        name, said = raw.decode("latin-1").lower(), value.decode("latin-1")
        found[name] = f"{found[name]}, {said}" if name in found else said
    return found
