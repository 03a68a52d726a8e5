"""How often one key may say something: a bucket that fills evenly."""

from collections import OrderedDict
from typing import NamedTuple

KEYS = 8_192
"""Keys that are told apart; the one that was quiet longest is forgotten, with a full bucket."""


class Bucket(NamedTuple):
    """So many are left at this instant."""

    left: float
    at: float


class Turnstile:
    """`per_minute` in the long run, and as many at once."""

    def __init__(self, per_minute: int) -> None:
        self._most = float(per_minute)
        self._buckets: OrderedDict[bytes, Bucket] = OrderedDict()

    def wait_s(self, key: bytes, now: float) -> float:
        """0 where it may pass, which takes one; else the seconds until it may."""
        before = self._buckets.pop(key, Bucket(self._most, now))
        left = min(self._most, before.left + max(0.0, now - before.at) * self._most / 60)
        passes = left >= 1
        self._buckets[key] = Bucket(left - passes, now)
        if len(self._buckets) > KEYS:
            self._buckets.popitem(last=False)
        return 0.0 if passes else (1 - left) * 60 / self._most
