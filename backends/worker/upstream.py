"""A worker as a replica: what every remote server is, and its own word on load and blocks where it is heard."""

import asyncio
import logging
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import aclosing
from typing import NoReturn

import msgspec

from backends.messages import ChatRequest
from backends.remote import Key, RemoteUpstream
from backends.transport import Transport
from backends.upstream import Answer, Load, Prepared, UpstreamCall
from backends.worker.heard import Heard
from backends.worker.listen import Unheard, listen
from backends.worker.messages import WorkerLoad
from backends.worker.prefix import PREFIX_HEADER, SALT_HEADER, Prefixes, read

log = logging.getLogger("turnout.worker")

FIRST_PAUSE_S = 0.1
LONGEST_PAUSE_S = 2.0
"""Between two tries to hear a worker; doubled from the first to the longest, and begun anew by a stream that lasted longer."""


STANDS_S = 0.12
"""Changes are told after 50 ms at the latest: what was not corrected for so long is so."""

NOT_THERE = "the worker cannot be reached"
"""What clients may know; its address is the operator's, and stands in the log."""


class Standing:
    """Others' work that stands: what was told twice, or so long ago that it would have been taken back by now.

    A word is as old as the next one is due, and many prompts are shorter than that: what was queued when the worker spoke
    would be held against it for several requests after it was done.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._before = self._last = (0, 0)
        self._last_at = 0.0

    def hear(self, running: int, queued_tokens: int) -> None:
        self._before, self._last = self._last, (running, queued_tokens)
        self._last_at = self._clock()

    def standing(self) -> tuple[int, int]:
        """Running requests and queued tokens."""
        if self._clock() - self._last_at >= STANDS_S:
            return self._last
        return min(self._before[0], self._last[0]), min(self._before[1], self._last[1])


class WorkerUpstream:
    """Without anybody who runs `hear` it is a remote server like any other. Raises what RemoteUpstream raises."""

    def __init__(
        self,
        *,
        model: str,
        at: str,
        transport: Transport,
        serves: str = "",
        key: Key | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.server = RemoteUpstream(model=model, at=at, transport=transport, serves=serves, key=key, heeds=self._heed)
        self._at = at
        self._heard = Heard()
        self._prefixes = Prefixes()
        self._under_way: Counter[bytes] = Counter()
        self._others = Standing(clock)

    def prepare(self, request: ChatRequest, salt: bytes) -> Prepared:
        return msgspec.structs.replace(self.server.prepare(request, salt), salt=salt)

    async def start(self, call: UpstreamCall) -> Answer:
        """Raises `UpstreamError`. Until it returns the prompt is being computed there, and counts as resident."""
        keys, salt = call.prepared.blocks, call.prepared.salt
        self._under_way.update(keys)
        try:
            headers = {**call.headers, SALT_HEADER: salt.hex()}
            return await self.server.start(msgspec.structs.replace(call, headers=headers))
        finally:
            self._arrived(keys)

    def resident_tokens(self, prepared: Prepared) -> int | None:
        """Known where the worker is heard, and has answered a prompt that begins so to us; else None."""
        keys = prepared.blocks
        coming = bisect_left(keys, True, key=lambda key: key not in self._under_way) * prepared.block_tokens
        if self._heard.load is None or not self._prefixes.knows(keys):
            return min(coming, prepared.tokens) or None
        held = self._prefixes.resident_tokens(keys, self._heard.resident)
        return min(max(held, coming), prepared.tokens)

    def load(self) -> Load:
        """Our own work, counted this instant, and what others had there when the worker last spoke."""
        own, told = self.server.load(), self._heard.load
        if told is None:
            why_not = self._heard.why_down or own.why_not
            return msgspec.structs.replace(own, ready=not why_not, why_not=why_not)
        running, queued_tokens = self._others.standing()
        return Load(
            ready=own.ready and told.ready,
            why_not=own.why_not or told.why_not,
            queued_tokens=own.queued_tokens + queued_tokens,
            running=own.running + running,
            active_tokens=told.active_tokens,
            others_running=running,
            others_queued_tokens=queued_tokens,
        )

    def marked_blocks(self, prepared: Prepared) -> int:
        """Leading blocks of the prompt of which the worker's word is known here."""
        return self._prefixes.known(prepared.blocks)

    def marks(self, prepared: Prepared) -> bytes:
        """The worker's word on all blocks of the prompt, for other gateways; nothing when it lacks one."""
        return self._prefixes.packed(prepared.blocks)

    def take_marks(self, prepared: Prepared, first: int, marks: bytes) -> None:
        """The worker's word on the blocks from number `first` on, as another gateway heard it."""
        self._prefixes.take(prepared.blocks[first:], marks)

    async def hear(self, forgot: Callable[[], Awaitable[None]]) -> NoReturn:
        """Listen to the worker for ever. `forgot` is called when it lost a cache that it had."""
        now = asyncio.get_running_loop().time
        pause_s, known = FIRST_PAUSE_S, ""
        while True:
            began = now()
            try:
                async with aclosing(listen(self.server)) as messages:
                    async for message in messages:
                        if self._heard.take(message):
                            await forgot()
                        if isinstance(message, WorkerLoad):
                            self._tell_apart(message)
            except Unheard as why:
                if now() - began > LONGEST_PAUSE_S:
                    pause_s, known = FIRST_PAUSE_S, ""
                known = self._lose(why, known)
            await asyncio.sleep(pause_s)
            pause_s = min(LONGEST_PAUSE_S, 2 * pause_s)

    async def aclose(self) -> None:
        await self.server.aclose()

    def _lose(self, why: Unheard, known: str) -> str:
        """Each reason is told once, until a stream lasts."""
        if str(why) != known:
            log.warning("the worker %s is not heard: %s", self._at, why)
        self._heard.lose(NOT_THERE if why.is_down else "")
        return str(why)

    def _tell_apart(self, told: WorkerLoad) -> None:
        """A word may be a moment old: were our own work read from it, an answer that just ended would still be in the way."""
        own = self.server.load()
        running, queued_tokens = told.running + told.waiting - own.running, told.queued_tokens - own.queued_tokens
        self._others.hear(max(0, running), max(0, queued_tokens))

    def _arrived(self, keys: Sequence[bytes]) -> None:
        self._under_way.subtract(keys)
        for key in keys:
            if self._under_way[key] <= 0:
                del self._under_way[key]

    def _heed(self, call: UpstreamCall, headers: Mapping[str, str]) -> None:
        marks = read(headers.get(PREFIX_HEADER, ""))
        if marks is not None:
            self._prefixes.learn(call.prepared.blocks, marks)
