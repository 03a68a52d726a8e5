"""The world at the moment of a decision, as values: health, load, prefix residency, time and one random draw."""

from collections.abc import Mapping

import msgspec


class ReplicaState(msgspec.Struct, frozen=True, kw_only=True):
    """One address that serves a model. `queued_tokens` is work before us, `active_tokens` what each decode step of its
    running answers reads; `prefill_tokens_per_s` is how fast it was seen to compute prompts, 0 where that is not known.
    `resident_tokens` of *this* prompt's prefix is its own word where `knows_residency`, else what can be guessed: of the
    `sent_tokens` of it that were sent there, what is there still by experience. `alike` counts the prompts under way
    there that begin with that prefix. `rests` says why it is left alone while another replica, of whatever model may answer,
    is not."""

    replica: str
    ready: bool = True
    why_not: str = ""
    rests: str = ""
    queued_tokens: int = 0
    running: int = 0
    active_tokens: int = 0
    resident_tokens: int = 0
    sent_tokens: int = 0
    prefill_tokens_per_s: float = 0.0
    knows_residency: bool = False
    alike: int = 0


class Snapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One read of the world, then immutable. `now` in seconds since the epoch; `draw` in [0, 1), the same for every turn of a
    conversation.

    `escalations_off` says for each route whose escalation does not pay why it is left alone for a while. `experiments`
    says for each experiment that is over which variant everybody gets; `ramps` of those whose weights were changed while they
    ran what followed the file's, the weights in force last. `budgets` says, where it was asked, what the accounts of the
    request have left, by budget and in its unit; None where that cannot be told and nobody may be answered without.
    `ttfts` says, where the policy asks, after how many seconds the first content of each model is late for such a prompt.
    """

    replicas: Mapping[str, tuple[ReplicaState, ...]]
    now: float = 0.0
    draw: float = 0.0
    escalations_off: Mapping[str, str] = {}
    experiments: Mapping[str, str] = {}
    ramps: Mapping[str, tuple[Mapping[str, float], ...]] = {}
    budgets: Mapping[str, int | None] = {}
    ttfts: Mapping[str, float] = {}
