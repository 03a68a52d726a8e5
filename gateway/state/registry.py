"""Replicas that announce themselves: under a model's name, at an address, for as long as their lease is renewed."""

from gateway.state.lane import Script
from gateway.state.redis_index import SCRIPTS
from gateway.state.store import Store

LEASE_S = 10.0

MOST_REPLICAS = 1_024
"""Of one model. Who announces itself beyond that is not found."""


class Registry:
    """Its clock is the store's, so who announces and who finds need not agree on the time."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._announce = Script(SCRIPTS / "announce.lua")
        self._announced = Script(SCRIPTS / "announced.lua")

    async def announce(self, model: str, address: str, lease_s: float = LEASE_S) -> bool:
        """The replica is here for `lease_s` seconds. False when the store did not take it."""
        lease_ms = round(lease_s * 1_000)
        run = self._store.lane.run
        return (
            await self._store.finish(lambda: run(self._announce, [self._key(model)], [address, lease_ms])) is not None
        )

    async def withdraw(self, model: str, address: str) -> bool:
        """The replica is not here any more, lease or not."""
        return await self.announce(model, address, 0.0)

    async def find(self, model: str) -> frozenset[str] | None:
        """Addresses; None when the store does not say."""
        run = self._store.lane.run
        found = await self._store.finish(lambda: run(self._announced, [self._key(model)], [MOST_REPLICAS]))
        return None if found is None else frozenset(address.decode("utf-8", "replace") for address in found)

    def _key(self, model: str) -> str:
        return f"{self._store.tag}:replicas:{model}"
