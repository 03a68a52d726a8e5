"""One logged choice as an estimate sees it, and what an estimate says."""

import msgspec


class Sample(msgspec.Struct, frozen=True, kw_only=True):
    """`reward` of what was done, `logged` the chance with which it was done, `target` that with which the other policy
    would do it in the same place. `unit` says which samples hang together: turns of one conversation.

    `predicted` is what a model expected of what was done, `expected` what it expects of the other policy: the mean over
    what that might do. `open`: the share of the other policy's choices here that the log had no chance to show.
    """

    unit: float
    reward: float
    logged: float = 1.0
    target: float = 1.0
    predicted: float = 0.0
    expected: float = 0.0
    open: float = 0.0

    @property
    def weight(self) -> float:
        return self.target / self.logged


class Interval(msgspec.Struct, frozen=True, kw_only=True):
    """A mean with its bounds, at the level that was asked for."""

    value: float
    low: float
    high: float


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a log says of another policy: its `mean`, and its `change` from what it is compared with. `effective` is how many
    independent units the evidence is worth (Kish), `clipped` the share of samples whose weight was cut, `unseen` the share of
    the policy's choices of which the log shows none: the interval holds whatever those come to."""

    mean: Interval
    change: Interval
    effective: float
    clipped: float
    unseen: float


class Refused(msgspec.Struct, frozen=True):
    """No number; why."""

    why: str
