"""Money of a day that gateways spend together: each takes parts of it, whole or not at all, before it spends them."""

from gateway.state.lane import Script
from gateway.state.redis_index import SCRIPTS
from gateway.state.store import Store

LIFE_MS = 2 * 86_400_000
"""After the last word: gateways whose clocks differ by hours still have the same day."""


class SharedPurse:
    """A part whose answer was lost counts as taken, and nobody spends it: less than the cap is spent then, never more."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._script = Script(SCRIPTS / "purse.lua")

    async def take(self, name: str, day: int, amount: int, cap: int) -> bool:
        """False where there is no room for it, or the store does not say that there is. `amount` below 0 is given back."""
        key = f"{self._store.tag}:purse:{name}:{day}"

        async def work() -> bool:
            return bool(await self._store.lane.run(self._script, [key], [amount, cap, LIFE_MS]))

        return bool(await self._store.finish(work))
