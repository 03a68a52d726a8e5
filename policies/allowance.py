"""How often somebody may be asked once more, beside a silent one or after one that failed: a share of the requests."""

MOST = 10.0
"""Calls that may be saved up, so that an hour of calm does not pay for a storm of them."""


class Allowance:
    """At any time at most the share `budget` of all requests so far, beyond the `credit` that there was to begin with."""

    __slots__ = ("_credit",)

    def __init__(self, credit: float = 0.0) -> None:
        self._credit = credit

    def came(self, budget: float) -> None:
        """Another request that one call more could be made for."""
        self._credit = min(MOST, self._credit + budget)

    def take(self) -> bool:
        """Whether it may be made now. Then it is.

        >>> own = Allowance()
        >>> [own.came(0.5), own.take(), own.came(0.5), own.take(), own.take()]
        [None, False, None, True, False]
        """
        if self._credit < 1.0 - 1e-9:
            return False
        self._credit -= 1.0
        return True
