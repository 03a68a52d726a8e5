"""The larger model, asked while the smaller one's answer is still being judged: taken over, or closed unseen."""

import asyncio
from collections.abc import Callable, Coroutine

from backends.messages import Usage
from backends.upstream import Answer
from gateway.request.owner import Attempt
from policies.decision import Call

Begin = Callable[[], tuple[Attempt, Coroutine[object, None, Answer]]]
Charge = Callable[[Call, Usage], None]


class HeadStart:
    """At most one call, to `call`. Who `take`s it owns it; else `aclose` ends it, and what it used is charged."""

    def __init__(self, call: Call, begin: Begin, charge: Charge) -> None:
        self.call = call
        self._begin = begin
        self._charge = charge
        self._attempt: Attempt | None = None
        self._task: asyncio.Task[Answer] | None = None

    def begin(self) -> None:
        if self._task is None:
            self._attempt, answer = self._begin()
            self._task = asyncio.create_task(answer, name="head-start")

    def take(self, call: Call) -> "tuple[Attempt, asyncio.Task[Answer]] | None":
        """The attempt that is under way, and its answer to come; None where none was begun for `call`."""
        attempt, task = self._attempt, self._task
        if attempt is None or task is None or call != self.call:
            return None
        self._attempt = None
        return attempt, task

    async def aclose(self) -> None:
        attempt, self._attempt = self._attempt, None
        if attempt is None or self._task is None:
            return
        usage = Usage(attempt.prepared.tokens, 0)
        self._charge(self.call, usage)
        self._task.cancel()
        try:
            await asyncio.wait((self._task,))
            if not self._task.cancelled():
                self._task.exception()
        finally:
            await attempt.end("cancelled", usage)
