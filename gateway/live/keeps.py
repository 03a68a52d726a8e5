"""How long a server keeps the prefixes that it was sent, learnt from how much of what we expected was really reused.

Servers evict as they must and say nothing; their word on `cached_tokens` is all that there is. Too long a time sends prompts
to a cache that is cold, too short a one forgets a warm one: the time falls quickly and rises slowly.
"""

from gateway.state.residency import CONFIRMED_TTL_S, MAX_TTL_S

SHORTEST_S = 30.0
FALLS, RISES = 0.6, 1.15

WORTH_TOKENS = 256
"""An expectation of less says little: servers reuse whole blocks, and count them their own way."""

MISSES_IN_A_ROW = 3
"""So many expectations of which nothing at all was reused: the cache is gone, the server began anew."""


class Keeps:
    """Of one replica. Servers that have never told of a cached token are taken at no word: they may not count them."""

    __slots__ = ("_misses", "_tells", "ttl_s")

    def __init__(self) -> None:
        self.ttl_s = CONFIRMED_TTL_S
        self._tells = False
        self._misses = 0

    def was_reused(self, predicted: int, cached: int) -> bool:
        """Learn from one answer. True when the replica must have lost all that it had.

        >>> keeps = Keeps()
        >>> keeps.was_reused(1000, 900), [keeps.was_reused(1000, 0) for _ in range(3)], keeps.ttl_s < 600
        (False, [False, False, True], True)
        """
        self._tells = self._tells or cached > 0
        if not self._tells or predicted < WORTH_TOKENS:
            return False
        if cached >= predicted / 2:
            self._misses = 0
            self.ttl_s = min(self.ttl_s * RISES, MAX_TTL_S)
            return False
        self.ttl_s = max(self.ttl_s * FALLS, SHORTEST_S)
        self._misses = 0 if cached else self._misses + 1
        if self._misses < MISSES_IN_A_ROW:
            return False
        self._misses = 0
        return True
