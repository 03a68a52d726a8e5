"""A sequence: the engine's unit of work. Which of its tokens are computed, and in which blocks. Pure Python."""

from array import array
from dataclasses import dataclass, field
from typing import NamedTuple

from backends.engine.api import BLOCK_TOKENS, Job
from policies.affinity.blocks import token_blocks


class Rank(NamedTuple):
    """Who goes first: lower priority values, then earlier arrivals."""

    priority: int
    job_id: int


@dataclass(slots=True, eq=False)
class Sequence:
    """Prompt and output of one job, and the state of its KV.

    Invariants: positions below `computed` are written in the blocks of `table`; `computed < len(tokens)`, because the
    last token is what the next step continues from. `digests` are those of the leading full blocks, as far as known.
    `key` is the first key of its chain of digests. `cached` counts prompt tokens that somebody else had computed.
    """

    job_id: int
    job: Job
    key: bytes
    tokens: list[int] = field(default_factory=list)
    computed: int = 0
    table: "array[int]" = field(default_factory=lambda: array("i"))
    digests: list[bytes] = field(default_factory=list)
    cached: int = 0
    was_preempted: bool = False

    def __post_init__(self) -> None:
        self.tokens = list(self.job.prompt)

    @property
    def rank(self) -> Rank:
        return Rank(self.job.priority, self.job_id)

    @property
    def missing(self) -> int:
        """Tokens to compute before the next one can be sampled: 1 while decoding, more in prefill."""
        return len(self.tokens) - self.computed

    @property
    def room(self) -> int:
        """Output tokens that the job may still get."""
        return self.job.max_tokens - (len(self.tokens) - len(self.job.prompt))

    @property
    def prompt_missing(self) -> int:
        return max(0, len(self.job.prompt) - self.computed)

    def count_cached(self, tokens: int) -> None:
        """Prompt tokens found resident. What a preempted sequence finds again is its own work, and not counted."""
        if not self.was_preempted:
            self.cached += tokens

    def contents(self, block: int) -> tuple[int, ...]:
        """Token ids of its `block`-th full block."""
        return tuple(self.tokens[block * BLOCK_TOKENS : (block + 1) * BLOCK_TOKENS])

    def digest(self, block: int) -> bytes:
        """Digest of the prefix that ends with its `block`-th full block."""
        known = len(self.digests)
        if block >= known:
            previous = self.digests[-1] if self.digests else self.key
            fresh = self.tokens[known * BLOCK_TOKENS : (block + 1) * BLOCK_TOKENS]
            self.digests.extend(token_blocks(previous, fresh, BLOCK_TOKENS))
        return self.digests[block]
