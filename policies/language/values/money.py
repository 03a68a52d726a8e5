"""Money with its unit: so much in a day."""

import re
from decimal import Decimal

from policies.language.values.quantities import is_number

A_DAY_PATTERN = r"\$[0-9]{1,9}(?:\.[0-9]{1,6})?/day"


def a_day(value: object) -> int:
    """Micro-dollars in a day. Raises ValueError.

    >>> a_day("$0.50/day")
    500000
    """
    if is_number(value):
        raise ValueError(f"needs a unit: ${value}/day")
    if not isinstance(value, str) or not re.fullmatch(A_DAY_PATTERN, value):
        raise ValueError("should be money for a day, such as $5/day")
    return int(Decimal(value[1:].removesuffix("/day")) * 1_000_000)
