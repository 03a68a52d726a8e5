"""Which of several equally good replicas, the same one every time; and which replica is too busy to be good.

Rendezvous hashing (Thaler and Ravishankar, 1998): each replica draws a number for the key, the highest wins. A replica
that goes moves only its own keys, one that comes takes only what it wins.
"""

from collections.abc import Sequence
from hashlib import blake2b

from policies.snapshot import ReplicaState

QUEUED_TOKENS_PER_RUNNING = 512
"""Queued prompt tokens that weigh as much as one running sequence: about one step of prefill."""


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


def load(state: ReplicaState) -> float:
    """Work at a replica, in running sequences."""
    return state.running + state.queued_tokens / QUEUED_TOKENS_PER_RUNNING


def overloaded(loads: Sequence[float], max_imbalance: float, spill_after: float) -> tuple[bool, ...]:
    """For each replica of a model: is it to be passed over?

    Bounded loads (Mirrokni, Thorup and Zadimoghaddam, 2018) with a slack: a replica is over when it stands above
    `max_imbalance` x mean *and* more than `spill_after` above the least loaded, so that a few requests on an idle fleet
    do not scatter a prefix. The least loaded is never over.

    >>> overloaded([8, 0], 1.1, 4), overloaded([3, 0], 1.1, 4)
    ((True, False), (False, False))
    """
    least, most = min(loads), max(loads)
    if most - least <= spill_after:
        return (False,) * len(loads)
    bound = max(max_imbalance * sum(loads) / len(loads), least + spill_after)
    return tuple([work > bound for work in loads])
