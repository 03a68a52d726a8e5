"""What another model says to the same, for comparison alone: nothing of it reaches the client, nobody waits for it long."""

import asyncio
from collections.abc import Coroutine

from backends.errors import UpstreamError
from backends.messages import Usage
from backends.upstream import Answer
from gateway.request.listen import Listener
from gateway.request.owner import Attempt
from gateway.request.settle import Tally
from policies.decision import Call
from policies.escalate.said import Said


class SecondOpinion:
    """Asks at once, in a task of its own, which `aclose` ends. A model that fails or is late has no opinion."""

    def __init__(self, call: Call, attempt: Attempt, answer: Coroutine[object, None, Answer]) -> None:
        self.call = call
        self._attempt = attempt
        self._listener = Listener()
        self._tally = Tally(attempt.prepared.tokens)
        self._task = asyncio.create_task(self._hear(answer), name="second-opinion")

    @property
    def usage(self) -> Usage | None:
        return self._tally.best_usage

    async def said(self, within_s: float) -> Said | None:
        """The whole answer, if it comes in time."""
        done, _ = await asyncio.wait((self._task,), timeout=within_s)
        return self._listener.said() if done and self._task.result() else None

    async def aclose(self) -> None:
        self._task.cancel()
        await asyncio.wait((self._task,))

    async def _hear(self, answer: Coroutine[object, None, Answer]) -> bool:
        """Whether it answered."""
        error_kind = "cancelled"
        try:
            async for event in await answer:
                self._tally.see(event)
                self._listener.hear(event)
            error_kind = ""
        except UpstreamError as error:
            error_kind = error.kind
        finally:
            await self._attempt.end(error_kind, self.usage)
        return not error_kind
