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

REMEMBERED = 50
"""Answers of a kind after which the share of expectations that came true is of these answers mostly."""

TRUSTED = 2
"""Average expectations of a kind that are taken to have come true before the first answer."""

MOSTLY = 0.8
"""Where more than this share came true all is believed: small differences between replicas would move prompts for nothing."""

KIND_TOKENS = 1_024
"""Expectations below this are one kind, below twice as much another, and so on: the beginning that everybody shares is always
there, and says nothing of long conversations."""

MOST_WEIGHT = 2.0
"""Of one answer for the time, where an expectation of the average length has 1. A short beginning that everybody shares is
always held and so tells nothing of the long ones behind it."""


def kind_of(tokens: int) -> int:
    """
    >>> kind_of(1_023), kind_of(1_024), kind_of(2_048), kind_of(100_000)
    (0, 1, 2, 7)
    """
    return (tokens // KIND_TOKENS).bit_length()


class Keeps:
    """Of one replica. Servers that have never told of a cached token are taken at no word: they may not count them. `doubts`:
    of some kind of prompts not all that was sent is believed to be there."""

    __slots__ = ("_all", "_kinds", "_misses", "_tells", "doubts", "ttl_s")

    def __init__(self) -> None:
        self.ttl_s = CONFIRMED_TTL_S
        self.doubts = False
        self._tells = False
        self._misses = 0
        self._all = Sums()
        self._kinds: dict[int, Sums] = {}

    def believed(self, tokens: int) -> int:
        """Of so many tokens that should be there, how many are by experience of the kind, and no fewer than shorter ones have.

        >>> keeps = Keeps()
        >>> keeps.believed(1000), [keeps.was_reused(1000, cached) for cached in (1000, 0, 0)], keeps.believed(1000)
        (1000, [False, False, False], 359)
        """
        own = kind_of(tokens)
        if own not in self._kinds or self._kinds[own].is_sure:
            return tokens
        shorter = [(sums, (KIND_TOKENS << kind) - 1) for kind, sums in self._kinds.items() if kind <= own]
        return max([sums.of(min(tokens, longest)) for sums, longest in shorter])

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
        self._all.add(predicted, reused)
        kind = self._kinds.setdefault(kind_of(predicted), Sums())
        was_sure = kind.is_sure
        kind.add(predicted, reused)
        if kind.is_sure is not was_sure:
            self.doubts = not all(sums.is_sure for sums in self._kinds.values())
        weight, share = min(MOST_WEIGHT, predicted / self._all.average), reused / predicted
        wanted_s = self.ttl_s * RISES ** (weight * share) * FALLS ** (weight * (1 - share))
        self.ttl_s = min(max(wanted_s, SHORTEST_S), MAX_TTL_S)


class Sums:
    """Answers of late, tokens that were expected of them, and tokens that were reused."""

    __slots__ = ("_answers", "_predicted", "_reused", "_squares", "is_sure")

    def __init__(self) -> None:
        self._answers = self._predicted = self._reused = self._squares = 0.0
        self.is_sure = True

    @property
    def average(self) -> float:
        """Tokens of an expectation."""
        return self._predicted / self._answers

    @property
    def share(self) -> float:
        """That came true."""
        trusted = TRUSTED * self.average
        return (self._reused + trusted) / (self._predicted + trusted)

    @property
    def variance(self) -> float:
        """Of that share, from answer to answer."""
        trusted = TRUSTED * self.average
        return (self._squares + trusted) / (self._predicted + trusted) - self.share**2

    def of(self, tokens: int) -> int:
        """What varies counts less than its mean: who goes where nothing is waits for nothing, and so do those behind. A match
        that is whole every other time counts a quarter; one of which half is there every time, a half."""
        return tokens if self.is_sure else round(tokens * max(0.0, self.share - self.variance))

    def add(self, predicted: int, reused: int) -> None:
        older = 1 - 1 / REMEMBERED
        self._answers = self._answers * older + 1
        self._predicted = self._predicted * older + predicted
        self._reused = self._reused * older + reused
        self._squares = self._squares * older + reused**2 / predicted
        self.is_sure = self.share > MOSTLY
