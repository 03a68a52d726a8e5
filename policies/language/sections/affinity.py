"""`affinity:` prefixes and load."""

from pydantic import Field

from policies.language.closed import Closed


class AffinityEntry(Closed):
    """Same prefix, same replica, while it is not overloaded."""

    max_imbalance: float = Field(
        default=1.1,
        ge=1.0,
        le=100.0,
        description="A replica above this multiple of the others' mean load, by more than chance, is passed over ...",
        examples=[1.1],
    )
    spill_after: float = Field(
        default=4.0,
        ge=0.0,
        description="... if it has this many requests more than the least loaded one.",
        examples=[4],
    )
    spread_after: int = Field(
        default=1,
        ge=1,
        le=1000,
        description="A prefix that more prompts than this, and most, begin with at one replica is computed at others too.",
        examples=[1],
    )
