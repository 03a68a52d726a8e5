"""How long a server keeps the prefixes that it was sent, and how much of what we believe of it is so: learnt from how much of
what we expected was really reused.

Servers evict as they must and say nothing; their word on `cached_tokens` is all that there is. Too long a time sends prompts
to a cache that is cold, too short a one forgets a warm one: the time falls quickly and rises slowly. Whatever it is, a cache
under pressure has less than was sent to it: of an expectation that share counts which came true of late.
"""

from gateway.state.residency import CONFIRMED_TTL_S, MAX_TTL_S

SHORTEST_S = 30.0
FALLS, RISES = 0.6, 1.15

WORTH_TOKENS = 256
"""An expectation of less says little: servers reuse whole blocks, and count them their own way."""

MISSES_IN_A_ROW = 3
"""So many expectations of which nothing at all was reused: the cache is gone, the server began anew."""

REMEMBERED = 100
"""Answers after which the share of expectations that came true is of these answers mostly."""

TRUSTED = 5
"""Average expectations that are taken to have come true before the first answer."""

MOSTLY = 0.8
"""Where more than this share came true all is believed: small differences between replicas would move prompts for nothing."""

MOST_WEIGHT = 2.0
"""Of one answer for the time, where an expectation of the average length has 1. A short beginning that everybody shares is
always held and so tells nothing of the long ones behind it."""


class Keeps:
    """Of one replica. Servers that have never told of a cached token are taken at no word: they may not count them."""

    __slots__ = ("_answers", "_misses", "_predicted", "_reused", "_tells", "ttl_s")

    def __init__(self) -> None:
        self.ttl_s = CONFIRMED_TTL_S
        self._tells = False
        self._misses = 0
        self._answers = self._predicted = self._reused = 0.0

    def believed(self, tokens: int) -> int:
        """Of so many tokens that should be there, how many are by experience.

        >>> keeps = Keeps()
        >>> keeps.believed(1000), [keeps.was_reused(1000, cached) for cached in (1000, 0, 0)], keeps.believed(1000)
        (1000, [False, False, False], 750)
        """
        if not self._answers:
            return tokens
        trusted = TRUSTED * self._predicted / self._answers
        share = (self._reused + trusted) / (self._predicted + trusted)
        return tokens if share > MOSTLY else round(tokens * share)

    def was_reused(self, predicted: int, cached: int) -> bool:
        """Learn from one answer. True when the replica must have lost all that it had.

        >>> keeps = Keeps()
        >>> keeps.was_reused(1000, 900), [keeps.was_reused(1000, 0) for _ in range(3)], keeps.ttl_s < 600
        (False, [False, False, True], True)
        """
        self._tells = self._tells or cached > 0
        if not self._tells or predicted < WORTH_TOKENS:
            return False
        self._count(predicted, min(cached, predicted))
        self._misses = 0 if cached else self._misses + 1
        if self._misses < MISSES_IN_A_ROW:
            return False
        self._misses = 0
        return True

    def _count(self, predicted: int, reused: int) -> None:
        older = 1 - 1 / REMEMBERED
        self._answers = self._answers * older + 1
        self._predicted = self._predicted * older + predicted
        self._reused = self._reused * older + reused
        weight = min(MOST_WEIGHT, predicted * self._answers / self._predicted)
        share = reused / predicted
        wanted_s = self.ttl_s * RISES ** (weight * share) * FALLS ** (weight * (1 - share))
        self.ttl_s = min(max(wanted_s, SHORTEST_S), MAX_TTL_S)
