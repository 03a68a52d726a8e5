"""Quantities with their units. A bare number where a unit is needed names the units that it could have been."""

import re
from dataclasses import dataclass
from decimal import Decimal

_DIGITS = r"[0-9]{1,12}(?:\.[0-9]{1,6})?"
TOKENS_PATTERN = _DIGITS + "(?:|k|Ki|M|Mi)"
TIME_PATTERN = _DIGITS + " ?(?:ms|s|m|h)"
PRICE_PATTERN = r"\$" + _DIGITS + "/(?:M|k)"
SHARE_PATTERN = _DIGITS + r"% of \S+"

TOKEN_UNITS = {"": 1, "k": 1_000, "Ki": 1_024, "M": 1_000_000, "Mi": 1_048_576}
SECONDS = {"ms": Decimal("0.001"), "s": Decimal(1), "m": Decimal(60), "h": Decimal(3600)}
PER_MILLION = {"/M": 1, "/k": 1_000}


@dataclass(frozen=True, slots=True)
class Share:
    """`percent` of what the model `of` comes to."""

    percent: float
    of: str


def _split(pattern: str, value: object) -> tuple[Decimal, str] | None:
    """The number and what follows it, if all of `value` is written like `pattern`."""
    text = str(value) if isinstance(value, str) or is_number(value) else ""
    if not re.fullmatch(pattern, text):
        return None
    number = re.search(_DIGITS, text)
    assert number is not None
    return Decimal(number[0]), text[number.end() :].strip()


def is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def tokens(value: object) -> int:
    """A count of tokens. Raises ValueError.

    >>> tokens("32k"), tokens("32Ki"), tokens(512)
    (32000, 32768, 512)
    """
    found = _split(TOKENS_PATTERN, value)
    if found is None:
        raise ValueError("should be a number of tokens, such as 512, 32k (thousands) or 32Ki (1024s)")
    count = found[0] * TOKEN_UNITS[found[1]]
    if count != int(count):
        raise ValueError("should come to a whole number of tokens")
    return int(count)


def seconds(value: object) -> float:
    """A length of time, in seconds, above zero. Raises ValueError.

    >>> seconds("800ms"), seconds("5s"), seconds("2m")
    (0.8, 5.0, 120.0)
    """
    if is_number(value):
        raise ValueError(f"needs a unit: {value}ms, {value}s, {value}m or {value}h")
    found = _split(TIME_PATTERN, value)
    if found is None:
        raise ValueError("should be a length of time, such as 800ms, 5s or 2m")
    length = found[0] * SECONDS[found[1]]
    if not length:
        raise ValueError("should be more than no time")
    return float(length)


def milliseconds(value: object) -> int:
    """A length of time, in whole milliseconds. Raises ValueError.

    >>> milliseconds("50ms")
    50
    """
    return max(1, round(seconds(value) * 1000))


def price(value: object) -> int:
    """A price of tokens, in micro-dollars per million. Raises ValueError.

    >>> price("$0.05/M"), price("$1/k")
    (50000, 1000000000)
    """
    if is_number(value):
        raise ValueError(f"needs a unit: ${value}/M (per million tokens) or ${value}/k (per thousand)")
    found = _split(PRICE_PATTERN, value)
    if found is None:
        raise ValueError("should be a price of tokens, such as $0.05/M (per million) or $0.002/k (per thousand)")
    return int(found[0] * PER_MILLION[found[1]] * 1_000_000)


def share(value: object) -> Share:
    """A share of what sending everything to one model comes to. Raises ValueError.

    >>> share("40% of large")
    Share(percent=40.0, of='large')
    """
    if is_number(value):
        raise ValueError(f"needs a reference: {value}% of MODEL")
    found = _split(SHARE_PATTERN, value)
    if found is None:
        raise ValueError('should be a share of a model, such as "40% of large"')
    return Share(float(found[0]), found[1].removeprefix("% of "))
