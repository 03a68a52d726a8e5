"""What another model says to the same, for comparison alone: nothing of it reaches the client, nobody waits for it long."""

import asyncio
from collections.abc import Awaitable, Callable

from backends.errors import UpstreamError
from backends.messages import Usage
from backends.upstream import Answer
from gateway.request.escalate.listen import Listener
from gateway.request.owner import Attempt
from gateway.request.settle import Tally
from policies.decision import Call
from policies.escalate.said import Said


class SecondOpinion:
    """Asks at once, in a task of its own, which `aclose` ends. A model that fails or is late has no opinion."""

    def __init__(self, call: Call, attempt: Attempt, ask: Callable[[], Awaitable[Answer]]) -> None:
        self.call = call
        self._attempt = attempt
        self._listener = Listener()
        self._tally = Tally(attempt.prepared.tokens)
        self._is_asked = False
        self._task = asyncio.create_task(self._hear(ask), name="second-opinion")

    @property
    def usage(self) -> Usage | None:
        return self._tally.best_usage

    async def said(self, within_s: float) -> Said | None:
        """The whole answer, if it comes in time."""
        done, _ = await asyncio.wait((self._task,), timeout=within_s)
        return self._listener.said() if done and self._task.result() else None

    async def aclose(self) -> None:
        """A task that is cancelled before its first step never takes it, so its attempt is ended here."""
        self._task.cancel()
        try:
            await asyncio.wait((self._task,))
        finally:
            if not self._is_asked:
                await self._attempt.end("cancelled", None)

    async def _hear(self, ask: Callable[[], Awaitable[Answer]]) -> bool:
        """Whether it answered."""
        self._is_asked, error_kind = True, "cancelled"
        try:
            async for event in await ask():
                self._tally.see(event)
                self._listener.hear(event)
            error_kind = ""
        except UpstreamError as error:
            error_kind = error.kind
        finally:
            await self._attempt.end(error_kind, self.usage)
        return not error_kind
