"""Differences, chances and parts with their units, as experiments state them."""

import re
from typing import Annotated

from pydantic import BeforeValidator, InstanceOf, WithJsonSchema

from policies.experiments.plan import Margin
from policies.language.values.quantities import is_number

_NUMBER = r"[0-9]{1,6}(?:\.[0-9]{1,6})?"
EFFECT_PATTERN = _NUMBER + "(?:pp|%)"
PART_PATTERN = r"[0-9]{1,3}(?:\.[0-9]{1,6})?%"
SPAN_PATTERN = PART_PATTERN + "(?: to " + PART_PATTERN + ")?"
LONG_PATTERN = _NUMBER + " ?(?:s|m|h|d)"

SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}


def effect(value: object) -> Margin:
    """A difference: relative, or in points of a rate. Raises ValueError.

    >>> effect("0.5pp"), effect("20%")
    (Margin(times=1.0, plus=0.005), Margin(times=1.2, plus=0.0))
    """
    if is_number(value):
        raise ValueError(f"needs a unit: {value}% (of control's value) or {value}pp (points of a rate)")
    if not isinstance(value, str) or not re.fullmatch(EFFECT_PATTERN, value):
        raise ValueError("should be a difference, such as 20% (of control's value) or 0.5pp (points of a rate)")
    amount = float(value.rstrip("p%"))
    if value.endswith("pp"):
        return Margin(plus=round(amount / 100, 9))
    return Margin(times=round(1 + amount / 100, 9))


def part(value: object) -> tuple[float | None, float]:
    """A part of all units: how much of them, or from where to where. Raises ValueError.

    >>> part("20%"), part("20% to 50%")
    ((None, 0.2), (0.2, 0.5))
    """
    if is_number(value):
        raise ValueError(f"needs a unit: {value}%")
    if not isinstance(value, str) or not re.fullmatch(SPAN_PATTERN, value):
        raise ValueError('should be a part of the units, such as 20%, or "20% to 50%"')
    ends = [round(float(end.strip(" %")) / 100, 9) for end in value.split("to")]
    if not 0 < ends[-1] <= 1:
        raise ValueError("should be above 0% and at most 100%")
    if len(ends) > 1 and ends[0] >= ends[1]:
        raise ValueError("ends where it begins, or before")
    return (ends[0] if len(ends) > 1 else None), ends[-1]


def alpha(value: object) -> float:
    """The chance of a false alarm. Raises ValueError.

    >>> alpha("5%")
    0.05
    """
    if is_number(value):
        raise ValueError(f"needs a unit: {value}%")
    if not isinstance(value, str) or not re.fullmatch(PART_PATTERN, value) or not 0 < float(value[:-1]) <= 20:
        raise ValueError("should be a percentage above 0% and at most 20%, such as 5%")
    return round(float(value[:-1]) / 100, 9)


def long_seconds(value: object) -> float:
    """A length of time that may be days. Raises ValueError.

    >>> long_seconds("14d")
    1209600.0
    """
    if is_number(value):
        raise ValueError(f"needs a unit: {value}h, {value}d, ...")
    if not isinstance(value, str) or not re.fullmatch(LONG_PATTERN, value):
        raise ValueError("should be a length of time, such as 30m, 12h or 14d")
    length = float(value[:-1]) * SECONDS[value[-1]]
    if not length:
        raise ValueError("should be more than no time")
    return length


def _spelt(pattern: str) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "pattern": f"^{pattern}$"})


WorseBy = Annotated[InstanceOf[Margin], BeforeValidator(effect), _spelt(EFFECT_PATTERN)]
Part = Annotated[tuple[float | None, float], BeforeValidator(part), _spelt(SPAN_PATTERN)]
AlphaShare = Annotated[float, BeforeValidator(alpha), _spelt(PART_PATTERN)]
LongSeconds = Annotated[float, BeforeValidator(long_seconds), _spelt(LONG_PATTERN)]
