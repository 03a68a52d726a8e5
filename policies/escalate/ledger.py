"""What escalating one route has come to: may it go on, and does it pay? A pure fold over what happened.

Two bounds. `at_most` is a bucket: every request adds its share, an escalation takes one. And over a sliding memory: when
nearly no escalation got a better answer, or when small and large together charge more than the large model alone would
have, holding back stops for a while and is then tried again.
"""

from math import sqrt

import msgspec

SAVED_UP = 50
"""Requests whose unused share may be saved up for later."""

FEWEST_JUDGED = 20
"""Escalations before anything is said of their worth."""

MEMORY = 100
"""Escalations, and requests' money, that are remembered: above it both fade by half."""

LEAST_GAINED = 0.3
"""Share of escalations that must have got a better answer."""

PAUSE = 500
"""Requests for which a route that does not pay is left alone."""


class Ledger(msgspec.Struct, frozen=True, kw_only=True):
    """One route's account. `credit` in escalations. `judged` of `gained` escalations got something better.

    `spent` is what the requests of this route that began small were charged, `alone` what the large model alone would have
    charged, in micro-dollars. `pause` counts the requests until holding back is tried again; `why_off` says why it stopped.
    """

    credit: float = 1.0
    judged: float = 0.0
    gained: float = 0.0
    requests: float = 0.0
    spent: float = 0.0
    alone: float = 0.0
    pause: int = 0
    why_off: str = ""

    @property
    def is_off(self) -> bool:
        return self.pause > 0


def asked(ledger: Ledger, at_most: float) -> Ledger:
    """One more request on the route. A pause that ends begins with a clean sheet.

    >>> asked(Ledger(credit=0.0), 0.12).credit
    0.12
    """
    credit = min(ledger.credit + at_most, max(1.0, SAVED_UP * at_most))
    if ledger.pause == 1:
        return Ledger(credit=credit)
    return msgspec.structs.replace(ledger, credit=credit, pause=max(0, ledger.pause - 1))


def may_escalate(ledger: Ledger) -> bool:
    return ledger.credit >= 1.0 - 1e-9


def escalated(ledger: Ledger) -> Ledger:
    return msgspec.structs.replace(ledger, credit=ledger.credit - 1.0)


def learnt(ledger: Ledger, *, gained: bool) -> Ledger:
    """What one escalation brought: `gained` when the larger model said something else, and nothing is wrong with it."""
    return _judged(
        _faded(msgspec.structs.replace(ledger, judged=ledger.judged + 1, gained=ledger.gained + float(gained)))
    )


def paid(ledger: Ledger, *, spent: int, alone: int) -> Ledger:
    """What one request was charged, beside what the large model alone would have been, in micro-dollars."""
    return _judged(
        _faded(
            msgspec.structs.replace(
                ledger, requests=ledger.requests + 1, spent=ledger.spent + spent, alone=ledger.alone + alone
            )
        )
    )


def _faded(ledger: Ledger) -> Ledger:
    if ledger.judged > MEMORY:
        ledger = msgspec.structs.replace(ledger, judged=ledger.judged / 2, gained=ledger.gained / 2)
    if ledger.requests > MEMORY:
        half = (ledger.requests / 2, ledger.spent / 2, ledger.alone / 2)
        ledger = msgspec.structs.replace(ledger, requests=half[0], spent=half[1], alone=half[2])
    return ledger


def _judged(ledger: Ledger) -> Ledger:
    why = "" if ledger.is_off else why_not_worth_it(ledger)
    return msgspec.structs.replace(ledger, pause=PAUSE, why_off=why) if why else ledger


def why_not_worth_it(ledger: Ledger) -> str:
    """Why escalating does not pay, or "". Certain at 95 %, not at the first bad luck.

    >>> why_not_worth_it(Ledger(judged=40, gained=2))
    'of the latest 40 escalations 2 got a better answer'
    """
    if ledger.judged >= FEWEST_JUDGED and upper(ledger.gained, ledger.judged) < LEAST_GAINED:
        return f"of the latest {ledger.judged:.0f} escalations {ledger.gained:.0f} got a better answer"
    if ledger.requests >= 2 * FEWEST_JUDGED and ledger.alone and ledger.spent > ledger.alone:
        return f"it charges {100 * ledger.spent / ledger.alone:.0f}% of what the large model alone would"
    return ""


def upper(hits: float, of: float, z: float = 1.96) -> float:
    """Upper end of Wilson's interval for a share (Wilson 1927).

    >>> round(upper(2, 40), 3)
    0.165
    """
    share = hits / of
    middle = share + z * z / (2 * of)
    spread = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    return (middle + spread) / (1 + z * z / of)
