"""How often a hedge may begin: a share of the requests, none to begin with."""

MOST = 10.0
"""Hedges that may be saved up, so that an hour of calm does not pay for a storm of them."""


class Allowance:
    """Of all requests that could be hedged the share `budget` is, at most, at any time."""

    __slots__ = ("_credit",)

    def __init__(self) -> None:
        self._credit = 0.0

    def came(self, budget: float) -> None:
        """Another request that could be hedged."""
        self._credit = min(MOST, self._credit + budget)

    def take(self) -> bool:
        """Whether a hedge may begin now. Then it has.

        >>> own = Allowance()
        >>> [own.came(0.5), own.take(), own.came(0.5), own.take(), own.take()]
        [None, False, None, True, False]
        """
        if self._credit < 1.0 - 1e-9:
            return False
        self._credit -= 1.0
        return True
