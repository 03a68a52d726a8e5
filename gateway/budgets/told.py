"""What became of a request's budgets: what was set aside, by whose word, and what it came to."""

from collections.abc import Mapping
from typing import Literal

import msgspec

Result = Literal["reserved", "downgraded", "refused"]
By = Literal["memory", "store", "local_share"]
"""Who said so: this process, which is alone; the store that gateways share; this process for its share, while that is away."""


class Budgeted(msgspec.Struct, frozen=True, kw_only=True):
    """`budgets` are those that apply, `spent` the one that had too little left, or "". `reserved_*` is what was set aside for
    the first call, `microusd` and `tokens` what all calls came to. `taken` is the share that was taken before, by name, of
    those that are everybody's. Instants in nanoseconds of the wall clock; `settled_at` 0 where nothing was set aside."""

    budgets: tuple[str, ...]
    result: Result
    by: By
    spent: str = ""
    reserved_microusd: int = 0
    reserved_tokens: int = 0
    microusd: int = 0
    tokens: int = 0
    taken: Mapping[str, float] = {}
    began_at: int = 0
    ended_at: int = 0
    settled_at: int = 0
