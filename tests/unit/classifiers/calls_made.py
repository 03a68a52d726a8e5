"""How much work a text makes, counted in calls of functions, which no busy machine changes."""

import sys
from collections.abc import Callable


def calls(work: Callable[[str], object], text: str) -> int:
    count = 0

    def saw(_frame: object, event: str, _what: object) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(saw)
    try:
        work(text)
    finally:
        sys.setprofile(before)
    return count
