"""A server that is asked between requests how it is and how much it has to do, others' work included."""

import asyncio
import time
from collections.abc import Callable

import msgspec

from backends.probes.kinds import Kind, Reading, read_load
from backends.remote import RemoteUpstream
from backends.transport import TransportError
from backends.transport.alarms import until
from backends.transport.decoding import read_whole
from backends.upstream import Load

HEALTH, METRICS = "/health", "/metrics"

MAX_PAGE_BYTES = 16 * 1024 * 1024

STALE_S = 5.0
"""A reading that is older says nothing."""

TOKENS_OF_A_WAITING_PROMPT = 1_024
"""Servers count requests before them, not the tokens of these; half of chat prompts are shorter, the mean is about this."""


class ServerWatch:
    """Of one server, with the key and the connections of its upstream."""

    def __init__(self, server: RemoteUpstream, kind: Kind, clock: Callable[[], float] = time.monotonic) -> None:
        self._server = server
        self._kind = kind
        self._clock = clock
        self._why_not = ""
        self._reading: Reading | None = None
        self._others_running = self._others_queued_tokens = 0
        self._read_at = 0.0

    def with_others(self, own: Load) -> Load:
        """`own` work, counted this instant, and what others had there when the server was last asked."""
        if self._why_not:
            return msgspec.structs.replace(own, ready=False, why_not=self._why_not)
        if self._reading is None or self._clock() - self._read_at > STALE_S:
            return own
        return msgspec.structs.replace(
            own,
            running=own.running + self._others_running,
            queued_tokens=own.queued_tokens + self._others_queued_tokens,
            active_tokens=self._reading.used_tokens,
            others_running=self._others_running,
            others_queued_tokens=self._others_queued_tokens,
        )

    async def probe(self, within_s: float) -> None:
        """Ask for its health, then for its load. Never raises: whatever goes wrong is why it is not ready.

        A server that is well but does not tell its load takes work by what we know of it.
        """
        try:
            async with until(asyncio.get_running_loop().time() + within_s):
                status, _ = await self._page(HEALTH, within_s)
                self._why_not = "" if status == 200 else f"it answers {status} when asked how it is"
                if not self._why_not:
                    await self._read(within_s)
        except TimeoutError:
            self._why_not = f"no answer within {within_s:g} s"
        except TransportError as error:
            self._why_not = str(error)

    async def _read(self, within_s: float) -> None:
        status, page = await self._page(METRICS, within_s)
        self._reading = read_load(self._kind, page.decode("utf-8", "replace")) if status == 200 else None
        if self._reading is None:
            return
        own, told = self._server.load(), self._reading
        self._read_at = self._clock()
        self._others_running = max(0, told.running + told.waiting - own.running)
        self._others_queued_tokens = max(0, told.waiting * TOKENS_OF_A_WAITING_PROMPT - own.queued_tokens)

    async def _page(self, path: str, within_s: float) -> tuple[int, bytes]:
        response = await self._server.get(path, "text/plain", within_s, of_api=False)
        try:
            return response.status, await read_whole(response, MAX_PAGE_BYTES)
        finally:
            await response.aclose()
