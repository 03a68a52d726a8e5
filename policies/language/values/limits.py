"""What may be spent in a stretch of time: so much money, or so many tokens."""

import re
from decimal import Decimal
from typing import NamedTuple, cast

from policies.budgets.plan import Period, Unit
from policies.language.values.quantities import TOKEN_UNITS, is_number

LIMIT_PATTERN = r"(?:\$[0-9]{1,9}(?:\.[0-9]{1,6})?|[0-9]{1,12}(?:\.[0-9]{1,6})?(?:k|Ki|M|Mi)?)/(?:min|hour|day|month)"
_PARTS = re.compile(r"(\$?)([0-9.]+)([A-Za-z]*)/([a-z]+)")


class Limit(NamedTuple):
    """Micro-dollars, or tokens, in one period; `told` as it was written."""

    amount: int
    unit: Unit
    period: Period
    told: str


def limit(value: object) -> Limit:
    """Raises ValueError.

    >>> limit("$0.50/day"), limit("200k/min")[:3]
    (Limit(amount=500000, unit='microusd', period='day', told='$0.50/day'), (200000, 'tokens', 'min'))
    """
    if is_number(value):
        raise ValueError(f"needs a unit: ${value}/day (money) or {value}/min (tokens)")
    if not isinstance(value, str) or not re.fullmatch(LIMIT_PATTERN, value):
        raise ValueError("should be money or tokens for a min, hour, day or month, such as $50/day or 200k/min")
    parts = _PARTS.fullmatch(value)
    assert parts is not None
    dollars, number, unit, period = parts.groups()
    amount = Decimal(number) * (1_000_000 if dollars else TOKEN_UNITS[unit])
    if not amount or amount != int(amount):
        raise ValueError("should come to a whole number, above none")
    return Limit(int(amount), "microusd" if dollars else "tokens", cast(Period, period), value)
