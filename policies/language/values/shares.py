"""Shares with their units: of a whole, of the requests."""

import re

_NUMBER = r"[0-9]{1,3}(?:\.[0-9]{1,6})?"
PERCENT_PATTERN = _NUMBER + "%"
OF_REQUESTS_PATTERN = _NUMBER + "% of requests"


def percent(value: object) -> float:
    """A share of a whole, above none and below all of it. Raises ValueError.

    >>> percent("70%")
    0.7
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"needs a unit: {value}%")
    return _share(value, PERCENT_PATTERN, "should be a percentage, such as 70%", most=99.999999)


def up_to_all(value: object) -> float:
    """A share of a whole, above none of it. Raises ValueError.

    >>> up_to_all("100%")
    1.0
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"needs a unit: {value}%")
    return _share(value, PERCENT_PATTERN, "should be a percentage, such as 2%", most=100)


def of_requests(value: object) -> float:
    """A share of the requests, above none of them. Raises ValueError.

    >>> of_requests("12% of requests")
    0.12
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        raise ValueError(f"needs a unit: {value}% of requests")
    return _share(value, OF_REQUESTS_PATTERN, 'should be a share of requests, such as "12% of requests"', most=100)


def _share(value: object, pattern: str, otherwise: str, *, most: float) -> float:
    if not isinstance(value, str) or not re.fullmatch(pattern, value):
        raise ValueError(otherwise)
    found = float(value.partition("%")[0])
    if not 0 < found <= most:
        raise ValueError(f"should be above 0% and {'at most' if most == 100 else 'below'} 100%")
    return round(found / 100, 9)
