"""The engine's border: what a job is, what comes back, what a model must do. No torch here.

A *step* is one forward pass over a ragged batch. Prefill chunks, decode rows and draft rows are the same thing: a row is
one token of one sequence at one position.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from backends.errors import Kind
from backends.messages import Sampling, TokenLogprob, Usage

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

BLOCK_TOKENS = 16
"""Tokens in one KV block."""


class GrammarFault(Exception):
    """A grammar that cannot be followed any further, and why in words: the request's fault, not the engine's."""


class GrammarState(Protocol):
    """Where one answer stands in its grammar."""

    def allowed(self) -> "NDArray[np.uint8]":
        """A bit for each token that may come next, lowest first. End tokens only where the answer may end.

        Raises GrammarFault.
        """
        ...

    def accept(self, token: int) -> None:
        """The token was chosen. Raises GrammarFault."""
        ...

    def copy(self) -> "GrammarState":
        """One that stands where this one stands and goes its own way."""
        ...


class Grammar(Protocol):
    """What an answer may say; shared by any number of jobs."""

    def begin(self) -> GrammarState: ...


@dataclass(slots=True, frozen=True)
class Job:
    """One sequence to continue. `salt` keeps the prefix cache of tenants apart; `deadline_s` is on the monotonic clock.

    `continues`: the answer goes on with the prompt's last text, and is none of its own.
    """

    prompt: tuple[int, ...]
    sampling: Sampling
    max_tokens: int
    stop: tuple[str, ...] = ()
    salt: bytes = b""
    priority: int = 0
    deadline_s: float | None = None
    grammar: Grammar | None = None
    continues: bool = False


EndReason = Literal["stop", "length", "cancelled", "error"]


@dataclass(slots=True)
class Output:
    """What one step added to one job. `end` is set on the last Output; `error` explains end == "error".

    `param` names the field of the request that is at fault then, if one is; `kind` says what kind of failure it is.
    `stopped_by` is the stop string that ended the job, if one did.
    """

    job_id: int
    text: str = ""
    tokens: list[int] = field(default_factory=list)
    logprobs: list[TokenLogprob] = field(default_factory=list)
    end: EndReason | None = None
    usage: Usage | None = None
    stopped_by: str = ""
    error: str = ""
    param: str = ""
    kind: Kind = "engine_failed"


@dataclass(slots=True, frozen=True)
class EngineLoad:
    """Counts at this moment. `queued_tokens`: prompt tokens not yet computed, of all waiting and running jobs.

    `active_tokens`: tokens of running jobs that have their KV, which is what the decode of one step reads. Jobs that give
    way to all others (`backends.upstream.GIVES_WAY`) count for nothing but their blocks: nobody is sent elsewhere by them.
    """

    waiting: int
    running: int
    queued_tokens: int
    free_blocks: int
    total_blocks: int
    active_tokens: int = 0


class EngineApi(Protocol):
    """The engine as the rest of the project sees it. All methods are safe from any thread and never block."""

    def submit(self, job: Job, deliver: Callable[[Output], None]) -> int:
        """Queue a job and return its id. `deliver` is called on the engine's thread, once per step that added something.

        Raises `backends.errors.UpstreamError` (too_long, overloaded, unsupported, engine_failed).
        """
        ...

    def cancel(self, job_id: int) -> None:
        """Stop within one step and free the blocks. Unknown and finished ids are harmless."""
        ...

    def resident_tokens(self, blocks: Sequence[bytes]) -> int:
        """Tokens of the longest resident prefix of this chain of block digests."""
        ...

    def load(self) -> EngineLoad: ...

    def close(self) -> None:
        """End the thread. Jobs in flight end with an error."""
        ...


@dataclass(slots=True)
class Step:
    """A ragged batch for one forward pass, as int32 arrays.

    tokens, positions, sequence: (rows,), sequence indexing the rows of `tables`; rows of one sequence are adjacent, in
    rising position. tables: (sequences, max_blocks) block ids, unused entries 0. logit_rows: (m,) rows whose logits are
    wanted. The KV of every row is written before any row attends; row i attends to positions 0..positions[i].
    """

    tokens: "NDArray[np.int32]"
    positions: "NDArray[np.int32]"
    sequence: "NDArray[np.int32]"
    tables: "NDArray[np.int32]"
    logit_rows: "NDArray[np.int32]"


class LanguageModel(Protocol):
    """Weights and a KV pool behind one call. Row-independent: a row's logits depend on its own sequence only, bit for bit."""

    vocab_size: int
    context: int
    blocks: int

    def forward(self, step: Step) -> "NDArray[np.float32]":
        """Logits (m, vocab_size) of the wanted rows."""
        ...
