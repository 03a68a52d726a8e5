"""Prefix residency: which replica holds which leading blocks of a prompt; and what others gave the replicas to do."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

import msgspec

SPECULATIVE_TTL_S = 120.0
"""How long a block counts as held when it was only sent, at most: until its answer confirms it, or the attempt failed. Less
where the replica is known to keep what it has for less."""

CONFIRMED_TTL_S = 600.0
"""How long a block counts as held when the replica has answered the prompt."""

MAX_TTL_S = 3600.0
"""No record outlives this, whatever was asked."""

MAX_HOLDERS = 32
"""Replicas remembered for one block. When more hold it, the one whose record ends first is given up."""

MOST_BLOCKS = 8_192
"""Of one prompt, in the index: a million tokens in the chunks of remote servers. What lies behind them is not counted."""

NO_MARKS = b""

MARK_BYTES = 20
"""One mark of a block; what it says is its writer's and readers' business."""


Beginnings = tuple[tuple[bytes, int], ...]
"""How prompts begin that are under way, each by the digest of its last block; and how many do."""


class Work(NamedTuple):
    """What a replica has to do: requests, prompt tokens that are not computed yet, tokens of prompts being answered; and how
    the prompts begin of which there are most."""

    running: int = 0
    queued_tokens: int = 0
    active_tokens: int = 0
    beginnings: Beginnings = ()


NO_WORK = Work()

WORK_LIFE_S = 4.0
"""A word of another gateway's work that is not told again counts no longer: it is gone, or cannot be heard."""


class Prompt(msgspec.Struct, frozen=True):
    """One prompt as one model's replicas know it. From block `marks_from` on its marks are wanted too; None: not at all."""

    blocks: Sequence[bytes]
    replicas: Sequence[str]
    marks_from: int | None = None


class Seen(msgspec.Struct, frozen=True):
    """Of one prompt, by replica: how many leading blocks it holds without a gap; marks of the blocks from `marks_from` on,
    as far as they are known without a gap; what other gateways gave it to do; and how many prompts of that begin like what it
    holds of this one. Who is missing has nothing."""

    depths: Mapping[str, int]
    marks: Mapping[str, bytes] = {}
    others: Mapping[str, Work] = {}
    alike: Mapping[str, int] = {}


class Residency(Protocol):
    """Chained block digests -> replicas. A digest stands for its block and everything before it."""

    async def look(self, prompts: Sequence[Prompt]) -> Sequence[Seen]:
        """All prompts of one request, which differ by model, at once."""
        ...

    async def held(self, blocks: Sequence[bytes], replicas: Sequence[str]) -> Mapping[str, int]:
        """For every replica asked for, how many leading `blocks` it holds without a gap (0 when none)."""
        ...

    async def learn(self, replica: str, blocks: Sequence[bytes], ttl_s: float, marks: bytes = NO_MARKS) -> None:
        """`replica` holds `blocks` (leading, in order) for `ttl_s` seconds. Never shortens what is known.

        `marks`, where there are any, are MARK_BYTES for each block, kept for others to read.
        """
        ...

    def expect(self, replica: str, blocks: Sequence[bytes], ttl_s: float = SPECULATIVE_TTL_S) -> None:
        """`replica` was sent `blocks`, and will hold them. Nobody waits until others know."""
        ...

    async def forget(self, replica: str) -> None:
        """`replica` lost its cache (it restarted or left). Constant time."""
        ...

    async def aclose(self) -> None: ...
