"""Notices that the client left, from the moment its request is whole until its answer is."""

from gateway.errors import Left
from gateway.request.client import Asker


class ClientWatch:
    """Cancels the task that answers a client when it leaves. Whoever began it calls `end` when that task has cleaned up."""

    __slots__ = ("_client", "_task", "left")

    def __init__(self, client: Asker) -> None:
        self._client = client
        self._task = client.task
        self.left = False
        client.watch(self._gone)

    def _gone(self) -> None:
        if self._task is not None and not self.left:
            self.left = True
            self._task.cancel()

    def end(self) -> None:
        """Raises Left where the client did."""
        self._client.watch(None)
        task, self._task = self._task, None
        if self.left and task is not None:
            task.uncancel()
            raise Left("The client closed the connection.") from None
