"""Ids of requests, which nobody can guess."""

import os
from collections.abc import Callable
from functools import partial
from itertools import chain

from gateway.telemetry.forks import in_child

BYTES = 12

AT_ONCE = 256
"""Ids that are drawn together: a call of the system for each would take longer than all else about it."""


class RequestIds:
    """`fresh` gives one. A process that was forked draws its own, so no id is given twice."""

    fresh: Callable[[], str]

    def __init__(self) -> None:
        self._forget()
        in_child(self._forget)

    def _forget(self) -> None:
        """Drawn when the first is asked for, and again when all are given; no frame of Python for each of them."""
        self.fresh = chain.from_iterable(iter(partial(drawn, AT_ONCE), None)).__next__


def fresh_request_id() -> str:
    """One alone."""
    return drawn(1)[0]


def drawn(many: int) -> list[str]:
    """
    >>> len(drawn(3)), len(drawn(3)[0])
    (3, 28)
    """
    digits, each = os.urandom(BYTES * many).hex(), 2 * BYTES
    return [f"req_{digits[at : at + each]}" for at in range(0, len(digits), each)]
