"""The money of shadows on disk: nothing is spent before the disk knows that it may be."""

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec

from gateway.folder import PLAIN, replace
from policies.shadows.purse import Purse, after_sudden_end, at_rest, day_of, reserve, settle


class Till:
    """A purse for each shadow. `folder` None: they are kept in memory, and a restart begins afresh. `now` in seconds since the
    epoch."""

    def __init__(self, folder: Path | None, now: Callable[[], float] = time.time) -> None:
        self._folder = folder
        self._now = now
        self._purses: dict[str, Purse] = {}
        self._kept: dict[str, Purse] = {}
        self._turn = asyncio.Lock()

    def taken(self, name: str) -> int:
        """Micro-dollars of this day that are spent or set aside."""
        purse = self._purse(name)
        return purse.taken if purse.day == day_of(self._now()) else purse.reserved

    async def reserve(self, name: str, amount: int, cap: int | None) -> bool:
        """Set `amount` aside. False where the day has no room for it, or the disk could not be told."""
        if not amount:
            return True
        async with self._turn:
            found = None if cap is None else reserve(self._purse(name), amount, cap, day_of(self._now()))
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
                await self._write(name, at_rest(purse))

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
