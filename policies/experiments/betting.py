"""Betting on a bounded mean (Waudby-Smith and Ramdas, 2010.09686): an e-process for "the mean is m", exact at every look.

A gambler bets a part of the stake on each next value being above m, another below; under the null neither grows. The part
is chosen from the values before, so it may be anything that the past says.
"""

import math

import msgspec

MOST = 0.5
"""The largest part of the stake that is bet, as a share of what could be lost at once."""


class Bets(msgspec.Struct, frozen=True, kw_only=True):
    """Values lie in [`low`, `high`]; `mean` is what the null says. The stakes are logs. `total` and `squares` are of the values
    so far, with a half and a quarter of one invented value, so that the first bet is on nothing."""

    mean: float
    low: float = 0.0
    high: float = 1.0
    alpha: float = 0.05
    count: int = 0
    total: float = 0.0
    squares: float = 0.0
    above: float = 0.0
    below: float = 0.0

    @property
    def log_e(self) -> float:
        """Of the two-sided e-process: half of the stake was put on each side."""
        top = max(self.above, self.below)
        return top + math.log((math.exp(self.above - top) + math.exp(self.below - top)) / 2)


def bet(bets: Bets, value: float) -> Bets:
    """The stakes after `value`.

    >>> state = Bets(mean=0.5)
    >>> for _ in range(50):
    ...     state = bet(state, 1.0)
    >>> state.log_e > math.log(20)
    True
    """
    lam = stake(bets)
    gain = value - bets.mean
    up = min(max(0.0, lam), MOST / max(bets.mean - bets.low, 1e-12))
    down = min(max(0.0, -lam), MOST / max(bets.high - bets.mean, 1e-12))
    return msgspec.structs.replace(
        bets,
        count=bets.count + 1,
        total=bets.total + value,
        squares=bets.squares + gain * gain,
        above=bets.above + math.log1p(up * gain),
        below=bets.below + math.log1p(-down * gain),
    )


def stake(bets: Bets) -> float:
    """What the past would have one bet: its mean gain over its mean squared gain, which is nearly the best in hindsight
    (Kelly's criterion to second order)."""
    width = bets.high - bets.low
    squares = bets.squares + width * width / 4
    gains = bets.total - bets.count * bets.mean
    return gains / squares
