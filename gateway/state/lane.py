"""One connection to Redis, and one task that owns it. What is asked while an exchange is under way goes out together next."""

import asyncio
import contextlib
import hashlib
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from redis.exceptions import NoScriptError

from gateway.state.link import DEADLINE_S, Link

TOGETHER = 64
"""Questions of one exchange."""

LABOUR = 128
"""Of one exchange, of what takes the server long: whoever asks next waits for no more. Learning a block is 1."""

Word = str | bytes | int
Command = tuple[Word, ...]


class Script:
    """A Lua script by its digest."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text(encoding="utf-8")
        self.digest = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


class Lane:
    """Commands in, replies out, in order. A caller that goes away leaves its reply unread, never to another.

    A new connection costs milliseconds, so a burst over a pool would find most of its connections cold; here a burst
    is one write and one read. Raises what Redis raises, and TimeoutError after DEADLINE_S.
    """

    def __init__(self, link: Link) -> None:
        self._link = link
        self._waiting: list[tuple[Command, asyncio.Future[Any]]] = []
        self._toil: deque[tuple[int, Command, asyncio.Future[Any]]] = deque()
        self._pump: asyncio.Task[None] | None = None

    async def run(self, script: Script, keys: Sequence[str], args: Sequence[Word], labour: int = 0) -> Any:
        """The script's reply. It is loaded again when the server lost it. `labour`: of what takes the server long, how much;
        it goes out after all questions, LABOUR at once."""
        try:
            return await self._put(("EVALSHA", script.digest, len(keys), *keys, *args), labour)
        except NoScriptError:
            return await self._put(("EVAL", script.text, len(keys), *keys, *args), labour)

    async def ask(self, *command: Word) -> Any:
        return await self._put(command, 0)

    async def drop_connection(self) -> None:
        """The next command connects afresh."""
        await self._link.drop()

    async def aclose(self) -> None:
        if self._pump is not None:
            self._pump.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._pump
        await self._link.aclose()

    async def _put(self, command: Command, labour: int) -> Any:
        reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        if labour:
            self._toil.append((labour, command, reply))
        else:
            self._waiting.append((command, reply))
        if self._pump is None or self._pump.done():
            self._pump = asyncio.create_task(self._run(), name="redis-lane")
        return await reply

    async def _run(self) -> None:
        while self._waiting or self._toil:
            batch, self._waiting = self._waiting[:TOGETHER], self._waiting[TOGETHER:]
            batch = [(command, reply) for command, reply in (*batch, *self._next_toil()) if not reply.done()]
            for (_, reply), outcome in zip(batch, await self._exchange([command for command, _ in batch]), strict=True):
                _resolve(reply, outcome)

    def _next_toil(self) -> list[tuple[Command, "asyncio.Future[Any]"]]:
        """As much as one exchange may hold; one at least, if there is any."""
        taken, labour = list[tuple[Command, asyncio.Future[Any]]](), 0
        while self._toil and (not taken or labour + self._toil[0][0] <= LABOUR):
            more, command, reply = self._toil.popleft()
            labour += more
            taken.append((command, reply))
        return taken

    async def _exchange(self, commands: Sequence[Command]) -> Sequence[Any]:
        """A reply, or an exception, for each command. What takes long is not tried over a connection that just failed."""
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await self._send(commands)
        except Exception as error:  # whatever it is, each caller is to have it
            while self._toil:
                _resolve(self._toil.popleft()[2], error)
            return [error] * len(commands)

    async def _send(self, commands: Sequence[Command]) -> Sequence[Any]:
        client = await self._link.client()
        async with client.pipeline(transaction=False) as pipeline:
            for command in commands:
                pipeline.execute_command(*command)
            replies: Sequence[Any] = await pipeline.execute(raise_on_error=False)
            return replies


def _resolve(reply: "asyncio.Future[Any]", outcome: Any) -> None:
    if reply.done():
        return
    if isinstance(outcome, Exception):
        reply.set_exception(outcome)
    else:
        reply.set_result(outcome)
