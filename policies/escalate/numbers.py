"""The numbers in a text, and the one that it comes to: the last."""

import re

READS = 16_384
"""Characters looked at."""

NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
LAST = re.compile(r"-?\d[\d,]*(?:\.\d+)?(?:\s*/\s*\d+)?")
NEAR_THE_END = 1_024


def numbers(text: str) -> list[float]:
    """Without signs, in order.

    >>> numbers("1,350 + 6 * 3.5")
    [1350.0, 6.0, 3.5]
    """
    return [float(number.replace(",", "")) for number in NUMBER.findall(text[:READS])]


def final_number(text: str) -> float | None:
    """
    >>> final_number("in all 5/2, so $18.00."), final_number("about 1/2"), final_number("none")
    (18.0, 0.5, None)
    """
    found = LAST.findall(text[-NEAR_THE_END:])
    if not found:
        return None
    over, _, under = found[-1].replace(",", "").partition("/")
    return float(over) / (float(under) or 1.0) if under else float(over)
