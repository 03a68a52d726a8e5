"""Accounts of budgets in the store that gateways share: one script, one round trip."""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from math import ceil
from typing import Any

from gateway.budgets.shared import Change, Word
from gateway.state.lane import Script
from gateway.state.lane import Word as Part
from gateway.state.redis_index import SCRIPTS
from gateway.state.store import Store

LEASE_S = 60.0
"""A gateway that asks for nothing counts no longer among those that share what is left."""

SPARE_S = 3_600.0
"""How long an account outlives its period: requests that began in it are settled by then."""

TOGETHER = 128
"""Accounts that one call is told of."""


class SharedBudgets:
    """`me` names this process. `clock` counts seconds since the epoch."""

    def __init__(self, store: Store, me: str, clock: Callable[[], float] = time.time) -> None:
        self._store = store
        self._me = me
        self._clock = clock
        self._script = Script(SCRIPTS / "budgets.lua")
        self._prefix = f"{store.tag}:budget:"
        self._owed: dict[str, Change] = {}
        self._on_the_way: Mapping[str, Change] = {}
        self._telling: asyncio.Task[None] | None = None
        store.when_back(self._pay)

    async def take(self, changes: Sequence[Change], late: Callable[[Word], None]) -> Word | None:
        """All or nothing. None when the store is away or late; a word that nobody waits for any more goes to `late`."""
        is_waiting, came = True, None

        async def work() -> Word:
            nonlocal came
            came = word = await self._run(changes)
            if not is_waiting:
                late(word)
            return word

        try:
            return await self._store.ask(work)
        except asyncio.CancelledError:
            if came is not None:
                late(came)
            raise
        finally:
            is_waiting = False
            self._tell()

    def owe(self, change: Change) -> None:
        """To be taken, or given back, soon; nobody waits for it, and nothing refuses it."""
        self._add([change])
        self._tell()

    def owed(self, key: str) -> float:
        """What of an account the store has not been told yet."""
        return sum(found[key].amount for found in (self._owed, self._on_the_way) if key in found)

    async def aclose(self) -> None:
        """What is owed is told, as far as the store can be asked."""
        if self._telling is not None:
            await asyncio.wait((self._telling,))
        if self._owed:
            await self._store.finish(self._pay)

    def _add(self, changes: Iterable[Change]) -> None:
        for change in changes:
            before = self._owed.get(change.key)
            more = change.amount + (before.amount if before is not None else 0)
            self._owed[change.key] = change._replace(amount=more, firm=False)

    def _tell(self) -> None:
        """One exchange at a time; what comes meanwhile goes together with the next."""
        if self._telling is not None or not self._owed:
            return
        due = self._next()
        task = self._store.post(lambda: self._told(due))
        if task is None:
            return self._not_told(due)
        self._telling = task
        task.add_done_callback(partial(self._ended, due))

    def _next(self) -> Mapping[str, Change]:
        due = {key: self._owed.pop(key) for key in list(self._owed)[:TOGETHER]}
        self._on_the_way = due
        return due

    async def _told(self, due: Mapping[str, Change]) -> None:
        await self._run(list(due.values()))

    def _ended(self, due: Mapping[str, Change], task: "asyncio.Task[None]") -> None:
        self._telling = None
        if task.cancelled() or task.exception() is not None:
            return self._not_told(due)
        self._on_the_way = {}
        self._tell()

    def _not_told(self, due: Mapping[str, Change]) -> None:
        """It is owed still; of an exchange that was lost on its way it may be taken twice, never not at all."""
        self._on_the_way = {}
        self._add(due.values())

    async def _pay(self) -> None:
        """All that is owed. Raises what Redis raises."""
        while self._owed and self._telling is None:
            due = self._next()
            try:
                await self._run(list(due.values()))
            except BaseException:
                self._not_told(due)
                raise
            self._on_the_way = {}

    async def _run(self, changes: Sequence[Change]) -> Word:
        keys = [f"{self._prefix}gateways", *[f"{self._prefix}{change.key}" for change in changes]]
        args: list[Part] = [self._me, round(LEASE_S * 1_000)]
        for change in changes:
            args += self._said(change)
        told: list[Any] = await self._store.lane.run(self._script, keys, args)
        return Word(bool(told[0]), max(1, int(told[1])), [float(amount) for amount in told[2:]])

    def _said(self, change: Change) -> list[Part]:
        if change.flow:
            life_s = (change.size + max(0.0, change.amount)) / change.flow + SPARE_S
        else:
            life_s = max(0.0, change.ends_at - self._clock()) + SPARE_S
        amount = f"{change.amount:.3f}"
        return [amount, change.size, f"{change.flow / 1_000:.9f}", ceil(life_s * 1_000), int(change.firm)]
