"""The number that an answer comes to: the last one in it."""

import re

READS = 1_024
"""Characters looked at, of the end."""

NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?")


def ends_in_a_fraction(text: str) -> bool:
    """Whether the last number is not whole. Where things are counted, that is rarely right.

    >>> ends_in_a_fraction("so each gets 2.67 gallons."), ends_in_a_fraction("#### 18.00"), ends_in_a_fraction("none")
    (True, False, False)
    """
    found = NUMBER.findall(text[-READS:])
    if not found or "/" in found[-1]:
        return bool(found)
    return not float(found[-1].replace(",", "")).is_integer()
