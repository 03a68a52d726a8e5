"""How far two answers to the same request are apart, on several rungs. 0 is alike, 1 is wholly different."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

from policies.escalate.said import Said, SaidCall, Wanted
from policies.escalate.shape import misshapen, read
from policies.shadows.plan import Comparison

MOST_WORDS = 2_000
"""Of each answer that are compared word by word: two texts of 10 KB cost 0.7 ms."""

_WORD = re.compile(r"\w+|[^\w\s]")
_NOISE = re.compile(r"[\W_]+")


def likeness(first: Said, second: Said, wanted: Wanted, compare: Sequence[Comparison]) -> dict[str, float]:
    """What can be told without libraries: `exact`, `normalised`, `structure`, `misshapen`, of what is in `compare` and has a
    meaning for this request. `misshapen` is of the second alone."""
    found: dict[str, float] = {}
    if "exact" in compare:
        same_calls = calls_of(first) == calls_of(second)
        found["exact"] = float(first.text != second.text or first.calls != second.calls)
        found["normalised"] = float(not same_calls or normalised(first.text) != normalised(second.text))
    if "structure" in compare:
        found |= structure(first, second, wanted)
    return found


def structure(first: Said, second: Said, wanted: Wanted) -> dict[str, float]:
    """Of answers that call tools, or were to be JSON; of prose it says nothing."""
    if not (first.calls or second.calls or wanted.json):
        return {}
    if first.calls or second.calls:
        differs = calls_of(first) != calls_of(second)
    else:
        differs = read(first.text.strip()) != read(second.text.strip())
    return {"structure": float(differs), "misshapen": float(misshapen(second, wanted))}


def calls_of(said: Said) -> list[tuple[str, object]]:
    """Tools with their arguments as values: neither spaces nor the order of keys make a difference."""
    return [(call.name, arguments_of(call)) for call in said.calls]


def arguments_of(call: SaidCall) -> object:
    known, value = read(call.arguments or "{}")
    return value if known else call.arguments


def normalised(text: str) -> str:
    """Letters and digits alone, case and width aside.

    >>> normalised("  The ANSWER: is 4. ") == normalised("the answer is 4")
    True
    """
    return _NOISE.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def words(said: Said) -> list[str]:
    """What edits are counted in: words and marks of the text, then the calls.

    >>> words(Said(text="Hi, you!"))
    ['Hi', ',', 'you', '!']
    """
    calls = [f"{call.name} {call.arguments}" for call in said.calls]
    return _WORD.findall(" ".join([said.text[: 8 * MOST_WORDS], *calls]))[:MOST_WORDS]


def apart(cosine: float) -> float:
    """The distance that a cosine stands for, in [0, 1].

    >>> apart(1.0), apart(0.25), apart(-0.5)
    (0.0, 0.75, 1.0)
    """
    return min(1.0, max(0.0, 1.0 - cosine))


def in_percent(measured: Mapping[str, float]) -> dict[str, int]:
    """As evidence counts them: to the percent.

    >>> in_percent({"edit": 0.123})
    {'edit': 12}
    """
    return {name: round(100 * value) for name, value in measured.items()}
