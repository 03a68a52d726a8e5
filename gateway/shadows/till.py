"""The money of shadows: nothing is spent before the disk knows that it may be, nor before it was taken of the cap that gateways
share, where they do. Without the store's word no more than was taken is spent."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Protocol

import msgspec

from gateway.folder import PLAIN, replace
from policies.shadows.purse import (
    Purse,
    after_sudden_end,
    at_rest,
    day_of,
    granted,
    reserve,
    settle,
    wanted,
    within_grant,
)


class Common(Protocol):
    """A day's money of all gateways."""

    async def take(self, name: str, day: int, amount: int, cap: int) -> bool:
        """Whole or not at all; also not where nobody can tell. Below 0: it is given back."""
        ...


class Till:
    """A purse for each shadow. `folder` None: they are kept in memory, and a restart begins afresh. `common` None: the cap is
    this process's own. `now` in seconds since the epoch."""

    def __init__(self, folder: Path | None, now: Callable[[], float] = time.time, common: Common | None = None) -> None:
        self._folder = folder
        self._common = common
        self._now = now
        self._purses: dict[str, Purse] = {}
        self._kept: dict[str, Purse] = {}
        self._turn = asyncio.Lock()

    def taken(self, name: str) -> int:
        """Micro-dollars of this day that are spent or set aside."""
        purse = self._purse(name)
        return purse.taken if purse.day == day_of(self._now()) else purse.reserved

    async def reserve(self, name: str, amount: int, cap: int | None) -> bool:
        """Set `amount` aside. False where the day has no room for it, or neither disk nor store could be told."""
        if not amount:
            return True
        async with self._turn:
            found = None if cap is None else await self._reserved(name, amount, cap, day_of(self._now()))
            if found is None:
                return False
            self._purses[name] = found
            if await self._keep(name, found):
                return True
            self.settle(name, amount, 0)
            return False

    def settle(self, name: str, reserved: int, spent: int) -> None:
        """A call is over."""
        if reserved or spent:
            self._purses[name] = settle(self._purse(name), reserved, spent)

    async def aclose(self) -> None:
        """Nothing is under way any more."""
        async with self._turn:
            for name, purse in self._purses.items():
                if self._common is not None and purse.granted > purse.taken:
                    await self._common.take(name, purse.day, purse.taken - purse.granted, 0)
                await self._write(name, at_rest(purse))

    async def _reserved(self, name: str, amount: int, cap: int, day: int) -> Purse | None:
        """The purse with `amount` set aside. While the store is asked calls may be settled, so what was reckoned before counts
        no longer after it."""
        found = reserve(self._purse(name), amount, cap, day)
        if found is None or self._common is None:
            return found
        if (enough := within_grant(found)) is not None:
            return enough
        for part in wanted(found):
            if await self._common.take(name, day, part, cap):
                self._purses[name] = granted(self._purse(name), part, day)
                again = reserve(self._purses[name], amount, cap, day)
                return None if again is None else within_grant(again)
        return None

    async def _keep(self, name: str, purse: Purse) -> bool:
        kept = self._kept.get(name)
        if kept is not None and purse.day == kept.day and purse.authorised <= kept.authorised:
            return True
        return await self._write(name, purse)

    async def _write(self, name: str, purse: Purse) -> bool:
        if self._folder is not None:
            try:
                await asyncio.to_thread(replace, self._path(name), msgspec.json.encode(purse))
            except OSError:
                return False
        self._kept[name] = purse
        return True

    def _purse(self, name: str) -> Purse:
        if name not in self._purses:
            self._purses[name] = self._read(name)
        return self._purses[name]

    def _read(self, name: str) -> Purse:
        if self._folder is not None:
            with suppress(OSError, msgspec.MsgspecError):
                return after_sudden_end(msgspec.json.decode(self._path(name).read_bytes(), type=Purse))
        return Purse()

    def _path(self, name: str) -> Path:
        assert self._folder is not None
        return self._folder / f"{PLAIN.sub('_', name)}.spend"
