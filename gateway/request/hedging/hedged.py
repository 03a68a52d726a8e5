"""What became of the second replica that was asked while the first said nothing."""

from typing import Literal

import msgspec

from backends.messages import Usage
from policies.decision import Call

HedgeResult = Literal["cancelled", "won", "failed"]
"""cancelled: the first one spoke; won: the second did; failed: the second did not answer, and the first had to."""


class Hedged(msgspec.Struct, frozen=True, kw_only=True):
    """`second` was asked after `after_s` of silence. `loser` was closed unheard; its prompt, which is all that can be known of
    what it took, was charged with `microusd`: nothing where it failed."""

    second: Call
    after_s: float
    result: HedgeResult
    loser: Call
    usage: Usage | None = None
    microusd: int = 0
