"""Whatever an endpoint does, its client is left neither waiting nor with half an answer that looks whole."""

import asyncio
import logging

from gateway.connection.caller import Caller
from gateway.connection.endpoints import Attend

log = logging.getLogger("turnout.server")


async def attended(caller: Caller, attend: Attend, tasks: set["asyncio.Task[None]"]) -> None:
    """One request, in the task that is the caller's and stands among `tasks` until it is answered."""
    try:
        await attend(caller)
    except (Exception, asyncio.CancelledError) as error:
        log.error("a request broke", exc_info=error)
    else:
        if not caller.is_over and not caller.disconnected:
            log.error("a request was left without the end of its answer")
    finally:
        task, caller.task = caller.task, None
        if task is not None:
            tasks.discard(task)
    if not caller.is_over:
        caller.break_off()
