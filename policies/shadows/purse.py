"""What a shadow may spend in a day: reserved before it is asked, settled after, never above the cap, whenever the process ends.

What has been promised to the disk (`authorised`) is never less than what is spent and reserved together. So whoever reads
the disk after a sudden end counts too much, by one step at most, and never too little. Where gateways spend from one cap, what
is authorised was taken of it before as well (`granted`): so all of them together never exceed it, whichever of them end.
"""

import msgspec

STEPS = 64
"""The cap is authorised in so many parts: a write to disk for each, not for each request."""

DAY_S = 86_400


class Purse(msgspec.Struct, frozen=True, kw_only=True):
    """Amounts in micro-dollars. `day` counts days of UTC since 1970; `reserved` may be of calls that began the day before.
    `granted` was taken of the cap that gateways share; 0 where this one is alone."""

    day: int = 0
    spent: int = 0
    reserved: int = 0
    authorised: int = 0
    granted: int = 0

    @property
    def taken(self) -> int:
        return self.spent + self.reserved


def day_of(now: float) -> int:
    """
    >>> day_of(86_400.0)
    1
    """
    return int(now // DAY_S)


def reserve(purse: Purse, amount: int, cap: int, day: int) -> Purse | None:
    """The purse with `amount` set aside, or None where the cap of that day does not have it. `authorised` may have grown: that
    must be on disk before the money is spent.

    >>> reserve(Purse(day=1, spent=90), 20, cap=100, day=1) is None
    True
    """
    today = on(purse, day)
    taken = today.taken + amount
    if taken > cap:
        return None
    authorised = today.authorised
    if taken > authorised:
        authorised = min(cap, taken + cap // STEPS)
    return msgspec.structs.replace(today, reserved=today.reserved + amount, authorised=authorised)


def wanted(purse: Purse) -> tuple[int, ...]:
    """What to take of the shared cap so that this purse may be spent: all that is authorised, else no more than must be.

    >>> wanted(Purse(spent=5, reserved=2, authorised=20, granted=4))
    (16, 3)
    """
    return tuple(dict.fromkeys([purse.authorised - purse.granted, purse.taken - purse.granted]))


def granted(purse: Purse, amount: int, day: int) -> Purse:
    """So much was taken of the cap of that day."""
    today = on(purse, day)
    return msgspec.structs.replace(today, granted=today.granted + amount)


def within_grant(purse: Purse) -> Purse | None:
    """With no more authorised than was granted; None where that is too little.

    >>> within_grant(Purse(spent=5, authorised=20, granted=9)).authorised, within_grant(Purse(spent=5, granted=4))
    (9, None)
    """
    if purse.taken > purse.granted:
        return None
    return msgspec.structs.replace(purse, authorised=min(purse.authorised, purse.granted))


def settle(purse: Purse, reserved: int, spent: int) -> Purse:
    """A call is over that had `reserved`, and came to `spent`."""
    now_spent = purse.spent + spent
    left = purse.reserved - reserved
    return msgspec.structs.replace(
        purse, spent=now_spent, reserved=left, authorised=max(purse.authorised, now_spent + left)
    )


def on(purse: Purse, day: int) -> Purse:
    """On a later day nothing is spent yet; what is still under way counts."""
    return purse if day <= purse.day else Purse(day=day, reserved=purse.reserved, authorised=0)


def after_sudden_end(purse: Purse) -> Purse:
    """What is known of a purse whose process ended: all that was authorised may have been spent."""
    spent = max(purse.authorised, purse.taken)
    return Purse(day=purse.day, spent=spent, authorised=spent, granted=purse.granted)


def at_rest(purse: Purse) -> Purse:
    """What is kept when nothing is under way: exactly what was spent, the rest of what was granted having been given back."""
    taken = purse.taken
    return Purse(day=purse.day, spent=taken, authorised=taken, granted=min(purse.granted, taken))
