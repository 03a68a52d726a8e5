"""Work off the event loop that nobody waits for when the process ends."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from threading import Thread
from typing import TypeVar

Made = TypeVar("Made")


async def in_daemon(work: Callable[[], Made], name: str) -> Made:
    """What `work` returns or raises. The loop's own threads are joined at the end, however long they take; this one is not.

    Cancelled, it goes on unheard.
    """
    outcome: Future[Made] = Future()
    outcome.set_running_or_notify_cancel()

    def run() -> None:
        try:
            outcome.set_result(work())
        except BaseException as error:
            outcome.set_exception(error)

    Thread(target=run, name=name, daemon=True).start()
    return await asyncio.wrap_future(outcome)
