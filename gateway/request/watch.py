"""Notices that the client left, from the moment its request is whole until its answer is."""

import asyncio
from types import TracebackType

from gateway.errors import Left
from gateway.request.client import Client


class ClientWatch:
    """Cancels the task that entered it when the client leaves; the block then raises `Left`."""

    __slots__ = ("_client", "_owner", "left")

    def __init__(self, client: Client) -> None:
        self._client = client
        self._owner: asyncio.Task[object] | None = None
        self.left = False

    def __enter__(self) -> "ClientWatch":
        self._owner = asyncio.current_task()
        self._client.watch(self._gone)
        return self

    def _gone(self) -> None:
        if self._owner is not None and not self.left:
            self.left = True
            self._owner.cancel()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._client.watch(None)
        owner, self._owner = self._owner, None
        if self.left and owner is not None:
            owner.uncancel()
            raise Left("The client closed the connection.") from None
