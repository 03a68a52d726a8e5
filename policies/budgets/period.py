"""Stretches of time by the calendar of UTC. Instants in seconds since the epoch."""

from datetime import UTC, datetime

from policies.budgets.plan import Period

LENGTHS: dict[Period, int] = {"hour": 3_600, "day": 86_400}
"""In seconds; months differ."""


def began_at(period: Period, now: float) -> int:
    """When the hour, day or month of `now` began; 0 for what flows.

    >>> began_at("day", 86_401.5), began_at("month", 40 * 86_400.0) == 31 * 86_400, began_at("min", 90.0)
    (86400, True, 0)
    """
    if period == "month":
        return int(
            datetime.fromtimestamp(now, UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0).timestamp()
        )
    length = LENGTHS.get(period)
    return int(now // length) * length if length else 0


def ends_at(period: Period, now: float) -> int:
    """When it ends.

    >>> ends_at("hour", 0.0), ends_at("month", 0.0) == 31 * 86_400
    (3600, True)
    """
    if period == "month":
        return began_at("month", began_at("month", now) + 32 * LENGTHS["day"])
    return began_at(period, now) + LENGTHS.get(period, 0)


def spelt(at: float) -> str:
    """
    >>> spelt(0)
    '1970-01-01T00:00:00Z'
    """
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
