"""Who is asked how it is, and answers while our own loop stands still, has answered."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping

import pytest
from servers.virtual_time import VirtualLoop, run_virtual

from backends.probes.openai import probe
from backends.probes.watch import ServerWatch
from backends.remote import RemoteUpstream
from backends.transport import HttpRequest, Response, Transport
from backends.transport.interface import locate

WITHIN_S = 1.0
TURNS = 4
"""Of the loop, between what comes and who waited for it."""


class Came:
    """A response of which all is there."""

    status, done, is_packed = 200, False, False
    headers: Mapping[str, str] = {}

    def __init__(self, body: bytes) -> None:
        self._body = body

    async def read(self) -> bytes:
        body, self._body = self._body, b""
        return body

    async def aclose(self, *, whole: bool = False) -> None:
        """Nothing is held."""


class StandsStill:
    """A transport in whose first exchange our own loop stands still, or in which nothing comes."""

    def __init__(self, body: bytes, *, comes: bool) -> None:
        self._body, self._comes, self._stands = body, comes, True

    async def open(self, request: HttpRequest, connect_s: float, whole_s: float | None = None) -> Response:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        if not self._comes:
            await loop.create_future()
        if self._stands:
            self._stands = False
            await asyncio.sleep(0)
            loop.stand_still(5 * WITHIN_S)
        for _ in range(TURNS):
            await asyncio.sleep(0)
        return Came(self._body)

    async def aclose(self) -> None:
        """Nothing is open."""


ORIGIN, _ = locate("http://a/v1")
MODELS = b'{"data":[{"id":"m"}]}'


async def why_not_ready(transport: Transport) -> str:
    return (await probe(transport, ORIGIN, "/v1", {}, WITHIN_S)).why_not


async def why_not_watched(transport: Transport) -> str:
    server = RemoteUpstream(model="m", at="http://a/v1", transport=transport)
    watch = ServerWatch(server, "vllm")
    await watch.probe(WITHIN_S)
    return watch.with_others(server.load()).why_not


@pytest.mark.parametrize("comes", [True, False])
@pytest.mark.parametrize(("asks", "body"), [(why_not_ready, MODELS), (why_not_watched, b"")])
def test_what_came_while_our_own_loop_stood_still_has_come(
    asks: Callable[[StandsStill], Awaitable[str]], body: bytes, comes: bool
) -> None:
    async def ask() -> None:
        why_not = await asks(StandsStill(body, comes=comes))

        assert bool(why_not) == (not comes), why_not

    run_virtual(ask())
