"""Events of units that come again, under randomised assignment: whose units fail for the first time?

Where the treatment changes nothing, the units that fail are who they are, however often each comes and however its requests
hang together; chance is in their arms alone. So the arm of each newly failing unit is a fresh draw, and its likelihood ratio is
an e-value, exact at every look. A margin moves the null chance of the treatment's arm to that of rates which differ by it.
"""

import math

import msgspec

from policies.experiments.plan import Margin
from policies.experiments.two_by_two import BETS, PRIOR, TIMES, log_mean_of

SLOTS = 8_192
"""Units are told apart by slots: one that shares its slot with one that failed says nothing. Who that is hangs on no arm."""

DOUBT = 0.5
"""Failing units of each side that are taken to have been as expected."""


class Failing(msgspec.Struct, frozen=True):
    """Failing units of both sides, and how many there should have been; control's requests and failures, from which a margin in
    points becomes a ratio; the slots of units that have failed; what each bet's e-value has come to, in logs."""

    treat: float = 0.0
    control: float = 0.0
    expected_treat: float = 0.0
    expected_control: float = 0.0
    control_requests: float = 0.0
    slots: bytes = b""
    bets: tuple[float, ...] = (0.0,) * BETS

    @property
    def log_e(self) -> float:
        """Of all bets, as many parts of the same money."""
        return log_mean_of(self.bets)


def see(failing: Failing, event: bool, *, treated: bool, chance: float, unit: float, margin: Margin) -> Failing:
    """After one outcome. `chance` is the treatment's among the two sides, `unit` in [0, 1) stands for the unit.

    >>> state = Failing()
    >>> for i in range(12):
    ...     state = see(state, True, treated=i % 3 > 0, chance=0.1, unit=i / 12, margin=Margin())
    >>> state.log_e > math.log(100)
    True
    """
    counted = msgspec.structs.replace(failing, control_requests=failing.control_requests + (not treated))
    slot = int(unit * SLOTS)
    if not event or is_known(failing.slots, slot):
        return counted
    null = null_chance(failing, chance, margin)
    gains = [
        math.log(chance / null) if treated else math.log((1 - chance) / (1 - null))
        for chance in (max(null, believed_chance(failing, null)), *[worse(null, times) for times in TIMES])
    ]
    return msgspec.structs.replace(
        counted,
        treat=failing.treat + treated,
        control=failing.control + (not treated),
        expected_treat=failing.expected_treat + null,
        expected_control=failing.expected_control + 1 - null,
        slots=marked(failing.slots, slot),
        bets=tuple([log + gain for log, gain in zip(failing.bets, gains, strict=True)]),
    )


def null_chance(failing: Failing, chance: float, margin: Margin) -> float:
    """That a failing unit is the treatment's, where its rate is as far above control's as the margin allows."""
    rate = (failing.control + PRIOR) / (failing.control_requests + 2 * PRIOR)
    odds = (margin.times + margin.plus / rate) * chance / (1 - chance)
    return odds / (1 + odds)


def believed_chance(failing: Failing, null: float) -> float:
    """The same by what is known of earlier ones."""
    treat = null * (DOUBT + failing.treat) / (DOUBT + failing.expected_treat)
    control = (1 - null) * (DOUBT + failing.control) / (DOUBT + failing.expected_control)
    return treat / (treat + control)


def worse(null: float, times: float) -> float:
    """The same where the treatment's units fail so many times as often as allowed.

    >>> worse(0.5, 3.0)
    0.75
    """
    return times * null / (1 + (times - 1) * null)


def is_known(slots: bytes, slot: int) -> bool:
    return bool(slots) and bool(slots[slot >> 3] >> (slot & 7) & 1)


def marked(slots: bytes, slot: int) -> bytes:
    known = bytearray(slots or bytes(SLOTS // 8))
    known[slot >> 3] |= 1 << (slot & 7)
    return bytes(known)


def merged(one: Failing, other: Failing) -> Failing:
    """Of two gateways. Both may have seen the same units fail, and a product of e-values would count those twice: they are
    averaged."""
    added = {name: getattr(one, name) + getattr(other, name) for name in COUNTS}
    pairs = zip(one.slots or bytes(SLOTS // 8), other.slots or bytes(SLOTS // 8), strict=True)
    bets = tuple([log_mean_of(both) for both in zip(one.bets, other.bets, strict=True)])
    return Failing(slots=bytes([a | b for a, b in pairs]), bets=bets, **added)


COUNTS = ("treat", "control", "expected_treat", "expected_control", "control_requests")
