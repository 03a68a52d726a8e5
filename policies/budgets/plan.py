"""A budget: what somebody may spend in a stretch of time, and what happens to a request that it has no room for."""

from typing import Literal

import msgspec

Per = Literal["tenant", "api_key", "user", "all"]
"""Who has an account of their own; `all`: everybody shares one."""

Unit = Literal["microusd", "tokens"]

Period = Literal["min", "hour", "day", "month"]
"""A minute flows: what was taken comes back evenly. Hours, days and months are those of UTC: at their end all comes back."""

WhenAway = Literal["local_share", "reject", "allow"]
"""While the shared store is away: this gateway's share of what is left, nothing, or everything."""

SECONDS_A_MINUTE = 60


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """`limit` in its unit for one period, `told` as the file writes it. `at_once` is what an untouched account holds.

    `downgrade_to` is the model that answers instead of those for which too little is left, or "": they are refused.
    """

    name: str
    per: Per
    unit: Unit
    limit: int
    period: Period
    at_once: int
    told: str = ""
    downgrade_to: str = ""
    when_away: WhenAway = "local_share"

    @property
    def flow(self) -> float:
        """What comes back in a second; 0 where all comes back at the end of the period."""
        return self.limit / SECONDS_A_MINUTE if self.period == "min" else 0.0
