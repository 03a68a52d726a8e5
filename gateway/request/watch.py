"""Notices that the client left, from the moment its request is whole until its answer is."""

import asyncio
from types import TracebackType

from gateway.errors import Left
from gateway.request.ingress import Receive


class ClientWatch:
    """Cancels the task that entered it when the client leaves; the block then raises `Left`.

    ASGI tells of a disconnect only to who asks, so a request that waits for its first token, or answers in one piece,
    has to ask from a task of its own. The task lives inside the `async with` block.
    """

    def __init__(self, receive: Receive) -> None:
        self._receive = receive
        self._owner: asyncio.Task[object] | None = None
        self._asking: asyncio.Task[None] | None = None
        self.left = False

    async def __aenter__(self) -> "ClientWatch":
        self._owner = asyncio.current_task()
        self._asking = asyncio.create_task(self._ask(), name="client-watch")
        return self

    def answered(self) -> None:
        """The last byte was handed over: a disconnect means nothing from here on."""
        self._owner = None

    async def _ask(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        if self._owner is not None:
            self.left = True
            self._owner.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        owner, self._owner = self._owner, None
        if self._asking is not None:
            self._asking.cancel()
        if self.left and owner is not None:
            owner.uncancel()
            raise Left("The client closed the connection.") from None
