"""Prefix residency: which replica holds which leading blocks of a prompt."""

from collections.abc import Mapping, Sequence
from typing import Protocol

SPECULATIVE_TTL_S = 30.0
"""How long a block counts as held when it was only sent: until its answer confirms it, or the attempt failed."""

CONFIRMED_TTL_S = 600.0
"""How long a block counts as held when the replica has answered the prompt."""

MAX_TTL_S = 3600.0
"""No record outlives this, whatever was asked."""

MAX_HOLDERS = 32
"""Replicas remembered for one block. When more hold it, the one whose record ends first is given up."""


class Residency(Protocol):
    """Chained block digests -> replicas. A digest stands for its block and everything before it."""

    async def held(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> Mapping[str, int]:
        """For every replica asked for, how many leading `blocks` it holds without a gap (0 when none)."""
        ...

    async def learn(self, replica: str, blocks: Sequence[bytes], ttl_s: float) -> None:
        """`replica` holds `blocks` (leading, in order) for `ttl_s` seconds. Never shortens what is known."""
        ...

    async def forget(self, replica: str) -> None:
        """`replica` lost its cache (it restarted or left). Constant time."""
        ...

    async def aclose(self) -> None: ...
