"""`affinity:` prefixes and load."""

from pydantic import Field

from policies.language.closed import Closed


class AffinityEntry(Closed):
    """Same prefix, same replica, while it is not overloaded."""

    max_imbalance: float = Field(
        default=1.1, ge=1.0, le=100.0, description="A replica above this multiple of the mean load is passed over ...",
        examples=[1.1],
    )  # fmt: skip
    spill_after: float = Field(
        default=4.0,
        ge=0.0,
        description="... if it has this many requests more than the least loaded one.",
        examples=[4],
    )
