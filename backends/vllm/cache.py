"""One vLLM server's cache as a gateway knows it: from the server's events, and from its own word on how prompts are cut."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import NoReturn, Protocol

import msgspec

from backends.messages import ChatRequest
from backends.transport import Response, TransportError
from backends.transport.decoding import read_whole
from backends.upstream import Prepared, UpstreamCall
from backends.vllm.chains import Chains
from backends.vllm.events import Cleared, NotUnderstood, read_batch
from backends.worker.prefix import Marks, Prefixes, marked

log = logging.getLogger("turnout.vllm")

TOKENIZE = "/tokenize"
ASKED_OF = ("messages", "tools", "chat_template", "chat_template_kwargs", "add_generation_prompt")
"""Fields of a request that say how its prompt is written."""

WITHIN_S = 5.0
MAX_BODY_BYTES = 16 * 1024 * 1024

MOST_TO_LEARN = 64
"""Prompts that wait to be tokenised; beyond them, and while the server is slow, none is."""

SETTLES_S = 0.05
"""Events come a moment after the answer began; so long they are waited for, a few times over."""

LOOKS = 10


class Publisher(Protocol):
    async def next(self) -> tuple[bytes, ...]: ...

    def close(self) -> None: ...


class Server(Protocol):
    async def post(self, path: str, body: bytes, connect_s: float) -> Response:
        """A page beside the API. Raises TransportError."""
        ...


class _Tokens(msgspec.Struct):
    tokens: list[int]


class VllmCache:
    """`listen` opens the stream of events. What was stored before it was listened to is not known, so of such prompts
    nothing is claimed."""

    def __init__(self, serves: str, listen: Callable[[], Publisher]) -> None:
        self._serves = serves
        self._listen = listen
        self._chains = Chains()
        self._prefixes = Prefixes()
        self._to_learn: asyncio.Queue[UpstreamCall] = asyncio.Queue(MOST_TO_LEARN)
        self._number = -1

    def resident_tokens(self, prepared: Prepared) -> int | None:
        """Known where the server's blocks for such a beginning were told; else None."""
        if not self._prefixes.knows(prepared.blocks):
            return None
        return min(self._prefixes.resident_tokens(prepared.blocks, self._chains), prepared.tokens)

    def heed(self, call: UpstreamCall, headers: Mapping[str, str]) -> None:
        """A prompt was taken: how the server cuts it is asked later, beside the requests."""
        blocks = call.prepared.blocks
        is_new = bool(blocks) and self._prefixes.known(blocks) < len(blocks)
        if is_new and call.request.asks == "chat" and not self._to_learn.full():
            self._to_learn.put_nowait(call)

    def marked_blocks(self, prepared: Prepared) -> int:
        return self._prefixes.known(prepared.blocks)

    def marks(self, prepared: Prepared) -> bytes:
        return self._prefixes.packed(prepared.blocks)

    def take_marks(self, prepared: Prepared, first: int, marks: bytes) -> None:
        self._prefixes.take(prepared.blocks[first:], marks)

    async def hear(self, server: Server, forgot: Callable[[], Awaitable[None]]) -> NoReturn:
        """Listen for ever. `forgot` is called when the cache was lost."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow(forgot), name="vllm-events")
            while True:
                await self._learn(server, await self._to_learn.get())

    async def _follow(self, forgot: Callable[[], Awaitable[None]]) -> NoReturn:
        publisher = self._listen()
        try:
            while True:
                await self._take(await publisher.next(), forgot)
        finally:
            publisher.close()

    async def _take(self, message: tuple[bytes, ...], forgot: Callable[[], Awaitable[None]]) -> None:
        """Numbers count up by one. A smaller one: the server began anew. A larger one: something was lost, so what is known is
        not true any more, and nothing is claimed of it."""
        try:
            number, changes = int.from_bytes(message[-2], "big"), tuple(read_batch(message[-1]))
        except (NotUnderstood, IndexError) as error:
            log.warning("an event of a vLLM server is not understood: %s", error)
            return
        before, self._number = self._number, number
        began_anew = number <= before
        if began_anew or number > before + 1:
            self._chains, self._prefixes = Chains(), Prefixes()
        for change in changes:
            self._chains.take(change)
        if began_anew or any(isinstance(change, Cleared) for change in changes):
            await forgot()

    async def _learn(self, server: Server, call: UpstreamCall) -> None:
        tokens = await self._tokens(server, call.request)
        for _ in range(LOOKS):
            if not tokens:
                return
            chain = self._chains.walk(tokens)
            if chain and len(chain) >= len(tokens) // self._chains.size:
                at = tuple((number * self._chains.size, chain[number - 1]) for number in marked(len(chain)))
                self._prefixes.learn(call.prepared.blocks, Marks(len(tokens), at))
                return
            await asyncio.sleep(SETTLES_S)

    async def _tokens(self, server: Server, request: ChatRequest) -> list[int]:
        """Nothing when the server does not say."""
        try:
            async with asyncio.timeout(WITHIN_S):
                response = await server.post(TOKENIZE, self._question(request), WITHIN_S)
                try:
                    body = await read_whole(response, MAX_BODY_BYTES)
                    return msgspec.json.decode(body, type=_Tokens).tokens if response.status == 200 else []
                finally:
                    await response.aclose()
        except (TransportError, TimeoutError, msgspec.DecodeError) as error:
            log.debug("a prompt could not be tokenised: %s", error)
            return []

    def _question(self, request: ChatRequest) -> bytes:
        fields = msgspec.json.decode(request.raw, type=dict[str, msgspec.Raw])
        asked = {name: fields[name] for name in ASKED_OF if name in fields}
        return msgspec.json.encode({**asked, "model": self._serves})
