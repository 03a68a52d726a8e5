"""Ids of requests, which nobody can guess."""

import os

from gateway.telemetry.forks import in_child

BYTES = 12

AT_ONCE = 256
"""Ids that are drawn together: a call of the system for each would take longer than all else about it."""


class RequestIds:
    """A process that was forked draws its own, so no id is given twice."""

    def __init__(self) -> None:
        self._drawn: list[str] = []
        in_child(self._forget)

    def fresh(self) -> str:
        if not self._drawn:
            self._drawn = drawn(AT_ONCE)
        return self._drawn.pop()

    def _forget(self) -> None:
        self._drawn = []


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
