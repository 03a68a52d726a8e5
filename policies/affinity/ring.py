"""Which of several equally good replicas, the same one every time; and which replica is too busy to be good.

Rendezvous hashing (Thaler and Ravishankar, 1998): each replica draws a number for the key, the highest wins. A replica
that goes moves only its own keys, one that comes takes only what it wins.
"""

from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b
from math import sqrt

CHANCE = 3.0
"""Standard deviations by which a count of requests may stand out among its like by chance."""

REMEMBERED = 4_096
"""Draws; one request draws the same ones several times over."""


@lru_cache(maxsize=REMEMBERED)
def rank(key: str, replica: str) -> int:
    """The number that `replica` draws for `key`, in [0, 2^64)."""
    fields = f"{len(key)}:{key}{replica}".encode()
    return int.from_bytes(blake2b(fields, digest_size=8, person=b"turnout-ring").digest(), "big")


def owner(key: str, replicas: Sequence[str]) -> str:
    """The replica that `key` belongs to.

    >>> owner("k", ["a", "b"]) == owner("k", ["b", "a"])
    True
    """
    return max(replicas, key=lambda replica: rank(key, replica))


def overloaded(running: Sequence[float], max_imbalance: float, spill_after: float) -> tuple[bool, ...]:
    """For each replica of a model, by the requests under way there: is it to be passed over?

    Bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2018) with two kinds of slack: a replica is over when it has more
    than `spill_after` above the least loaded, so that a few requests on an idle fleet do not scatter a prefix, *and* is
    above `max_imbalance` x the mean of the others by more than CHANCE standard deviations of such a count (Poisson), so
    that chance alone moves nobody off a cache. The least loaded is never over.

    >>> overloaded([8, 0], 1.1, 4), overloaded([3, 0], 1.1, 4), overloaded([30, 20, 22], 1.1, 4)
    ((True, False), (False, False), (False, False, False))
    """
    least = min(running)
    if max(running) - least <= spill_after:
        return (False,) * len(running)
    total, others = sum(running), max(1, len(running) - 1)
    means = [(total - here) / others for here in running]
    return tuple(
        [
            here > least + spill_after and here > max_imbalance * mean + CHANCE * sqrt(mean)
            for here, mean in zip(running, means, strict=True)
        ]
    )
