"""Which replica of a shadow's model is asked, and which are left alone: from its own calls, not from those of requests."""

import time
from collections.abc import Sequence

from gateway.live.trust import Trust
from gateway.request.faults import wait_of
from gateway.shadows.ask import Told

NOT_ITS_FAULT = frozenset(("rejected", "too_long", "unsupported"))
"""Failures that speak of the request."""


class Circuit:
    def __init__(self) -> None:
        self._trust: dict[str, Trust] = {}
        self._turn = 0

    def choice(self, replicas: Sequence[str]) -> str | None:
        """The next that is not left alone; None where all are."""
        able = [name for name in replicas if not self._of(name).why_out()]
        self._turn += 1
        return able[self._turn % len(able)] if able else None

    def learn(self, replica: str, told: Told) -> None:
        trust = self._of(replica)
        if not told.failed:
            trust.answered()
        elif wait_s := wait_of(told.refusal, time.time()):
            trust.full(wait_s)
        elif told.failed not in NOT_ITS_FAULT or told.status >= 500:
            trust.failed("absent" if told.failed == "connect_failed" else "failing")

    def _of(self, replica: str) -> Trust:
        return self._trust.setdefault(replica, Trust(time.monotonic))
