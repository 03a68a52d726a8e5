"""A worker's lease: gateways that share the store find it under its model's name, while it takes work."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from typing import Protocol

from gateway.house import Gateway
from gateway.state.registry import LEASE_S

log = logging.getLogger("turnout.worker")

RENEW_S = LEASE_S / 4
LOOK_S = 0.2


class Leases(Protocol):
    async def announce(self, model: str, address: str) -> bool: ...

    async def withdraw(self, model: str, address: str) -> bool: ...


class Announcement:
    """`close` ends what the leases are kept through. One that dies is forgotten when its lease ends."""

    def __init__(self, gateway: Gateway, leases: Leases, address: str, close: Callable[[], Awaitable[None]]) -> None:
        self._gateway = gateway
        self._leases = leases
        self._address = address
        self._close = close
        self._held: dict[str, float] = {}

    async def keep(self) -> None:
        """Until cancelled; then the lease is given back. A process that stops gives it back at once."""
        try:
            while True:
                now = asyncio.get_running_loop().time()
                ready = set(self._ready())
                for model in ready:
                    if now - self._held.get(model, -RENEW_S) >= RENEW_S:
                        await self._renew(model, now)
                for model in self._held.keys() - ready:
                    await self._give_back(model)
                await asyncio.sleep(LOOK_S)
        finally:
            for model in tuple(self._held):
                await self._give_back(model)
            await self._close()

    def _ready(self) -> Iterator[str]:
        if self._gateway.door.is_draining:
            return
        for replica in self._gateway.live:
            if replica.is_local and replica.load().ready:
                yield replica.model

    async def _renew(self, model: str, now: float) -> None:
        if await self._leases.announce(model, self._address):
            if model not in self._held:
                log.info("announced %s at %s", model, self._address)
            self._held[model] = now

    async def _give_back(self, model: str) -> None:
        del self._held[model]
        await self._leases.withdraw(model, self._address)
