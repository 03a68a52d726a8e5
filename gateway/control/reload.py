"""The policy file is followed: a good change comes into force as a whole, a bad one changes nothing.

The new policy is read, checked, and its models opened before one reference is swapped; requests under way keep the
policy that they began with.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path

from gateway.house import Gateway
from gateway.live.in_force import Live
from gateway.request.identity import open_identity

log = logging.getLogger("turnout.policy")

LOOK_S = 0.25
"""How often the file is looked at. No event comes from the target of a link, from a folder that took another's place, or from
most network file systems, so whoever listens for events has to look all the same."""


Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """What changes when the file, or what its name leads to, does; None when there is nothing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


class PolicyRefused(Exception):
    """A policy that is not fit to be used; the message has every problem with its line and column."""


Build = Callable[[str, Live | None], Awaitable[Live]]
"""Text of a policy file, and what is in force -> what shall be in force, opened. Raises PolicyRefused."""


class Reloader:
    """Owns the swap. Changes that come while a file is being read are read next, as one."""

    def __init__(self, gateway: Gateway, path: Path, build: Build, text: str) -> None:
        self._gateway = gateway
        self._path = path
        self._build = build
        self._seen = self._in_force = text
        self._turn = asyncio.Lock()
        self._woken = asyncio.Event()
        self._forced = False
        self._retiring: asyncio.TaskGroup | None = None

    def wake(self, force: bool = False) -> None:
        """Read the file again soon. `force` reads all keys again too: those that it refers to, and those of clients."""
        self._forced |= force
        self._woken.set()

    async def follow(self, over: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as tasks, asyncio.TaskGroup() as retiring:
            self._retiring = retiring
            reading = tasks.create_task(self._read_when_woken(), name="read-policy")
            await self._watch(over)
            reading.cancel()

    async def _watch(self, over: asyncio.Event) -> None:
        """What changed is read when it has not changed for a look: it may be written piece by piece."""
        before = read = await asyncio.to_thread(stamp_of, self._path)
        self.wake()
        while not over.is_set():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LOOK_S):
                    await over.wait()
            found = await asyncio.to_thread(stamp_of, self._path)
            if found == before != read:
                read = found
                self.wake()
            before = found

    async def _read_when_woken(self) -> None:
        while True:
            await self._woken.wait()
            self._woken.clear()
            force, self._forced = self._forced, False
            await self.reload(force=force)

    async def reload(self, *, force: bool = False) -> None:
        """Read the file again. Its problems are logged, counted and shown by /readyz; the last good policy stays."""
        async with self._turn:
            try:
                text = await asyncio.to_thread(self._path.read_text, encoding="utf-8")
                identity = open_identity(self._gateway.settings) if force else self._gateway.identity
                if force or text != self._seen:
                    self._seen = text
                    self._swap(await self._build(text, self._gateway.live), text)
                    self._gateway.identity = identity
                    self._in_force = text
                elif text == self._in_force:
                    self._gateway.last_problem = ""
            except Exception as error:
                self._refuse(error)

    def _swap(self, fresh: Live, text: str) -> None:
        gateway, old = self._gateway, self._gateway.live
        fresh.redraw(gateway.lines.carry(old.policy, fresh.policy))
        gateway.takes(fresh, text)
        log.info("policy %s (%s) is in force", fresh.policy.name, fresh.policy.hash)
        if self._retiring is not None:
            self._retiring.create_task(old.retire(), name=f"retire-policy-{old.policy.hash}")

    def _refuse(self, error: Exception) -> None:
        self._gateway.last_problem = str(error) or type(error).__name__
        self._gateway.observer.policy_refused()
        log.error("the changed policy is not used, the last good one stays: %s", self._gateway.last_problem)
