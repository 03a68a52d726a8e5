"""What a shadow may spend in a day: reserved before it is asked, settled after, never above the cap, whenever the process ends.

What has been promised to the disk (`authorised`) is never less than what is spent and reserved together. So whoever reads
the disk after a sudden end counts too much, by one step at most, and never too little.
"""

import msgspec

STEPS = 64
"""The cap is authorised in so many parts: a write to disk for each, not for each request."""

DAY_S = 86_400


class Purse(msgspec.Struct, frozen=True, kw_only=True):
    """Amounts in micro-dollars. `day` counts days of UTC since 1970; `reserved` may be of calls that began the day before."""

    day: int = 0
    spent: int = 0
    reserved: int = 0
    authorised: int = 0

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
    return Purse(day=purse.day, spent=max(purse.authorised, purse.taken), authorised=max(purse.authorised, purse.taken))


def at_rest(purse: Purse) -> Purse:
    """What is kept when nothing is under way: exactly what was spent."""
    return Purse(day=purse.day, spent=purse.taken, authorised=purse.taken)
