"""From start to stop of the process: open the models, follow the policy file, and close everything in order."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence

from gateway.control.reload import Reloader
from gateway.house import Gateway
from gateway.worker.hear import hear_workers

log = logging.getLogger("turnout.models")

Close = Callable[[], Awaitable[None]]
Keep = Callable[[], Coroutine[None, None, None]]
"""Work beside the requests, until it is cancelled or done."""


class Upkeep:
    """Run as one task for the life of the server. `others` run beside it by their names; `closers` are
    called in order after the last request. `left_behind`: a thread still loads weights when all is closed."""

    def __init__(
        self,
        gateway: Gateway,
        reloader: Reloader,
        others: Mapping[str, Keep],
        closers: Sequence[Close],
    ) -> None:
        self._gateway = gateway
        self._reloader = reloader
        self._others = others
        self._closers = closers
        self.left_behind = False

    async def __call__(self, over: asyncio.Event) -> None:
        try:
            async with asyncio.TaskGroup() as tasks:
                beside = (
                    tasks.create_task(self._open_models(), name="open-models"),
                    tasks.create_task(self._hold_targets(), name="hold-targets"),
                    tasks.create_task(self._hear_workers(), name="hear-workers"),
                    *(tasks.create_task(keep(), name=name) for name, keep in self._others.items()),
                )
                await self._reloader.follow(over)
                for task in beside:
                    task.cancel()
        finally:
            await self._close()

    async def _hear_workers(self) -> None:
        await hear_workers(lambda: self._gateway.live, self._gateway.world.residency)

    async def _hold_targets(self) -> None:
        gateway = self._gateway
        await gateway.lines.follow(lambda: gateway.live, gateway.observer)

    async def _open_models(self) -> None:
        """A model that does not open stays out, with its reason in /readyz; the others answer. Where there are no others,
        the door is closed, and so the process ends."""
        for replica in self._gateway.live:
            try:
                await replica.open_off_loop()
            except Exception as error:
                log.error("model %s did not open: %s", replica.model, error)
        if self._gateway.live.is_hopeless:
            self._gateway.door.drain()

    async def _close(self) -> None:
        """Nobody waits for weights that are still being read."""
        for replica in self._gateway.live:
            if replica.is_loading:
                replica.let_go()
                self.left_behind = True
        await self._gateway.live.retire()
        for close in self._closers:
            await close()
