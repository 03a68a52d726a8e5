"""What two answers come to, where a difference means that one of them is wrong: a choice, a number, or JSON and calls of tools
that hold nothing but numbers and single words. Of all else a difference says nothing: two good letters differ."""

import re
from collections.abc import Mapping
from typing import Literal

from policies.escalate.agreement import choice
from policies.escalate.numbers import final_number
from policies.escalate.said import Said, Wanted
from policies.escalate.shape import DEEPEST, misshapen, read
from policies.shadows.likeness import arguments_of

ComesTo = Literal["same", "other", ""]
"""Of two answers; "" where it cannot be told."""

FORMS = ("calls", "json")
"""Kinds of ends that have a form."""

END = 160
"""Characters in which an answer says what it comes to."""

_IN_A_NUMBER = re.compile(r"\d[^\w\n]*(?:[^\W\d]{1,12}[^\w\n]*)?\s*\Z")
"""The number, its marks, and one word for what it counts."""

WORDS, CHARACTERS = 2, 40
"""Of a text in JSON that is a name and no sentence."""


def comes_to(first: Said, second: Said, wanted: Wanted) -> ComesTo:
    """What has not the form that was asked for comes to something else than what has.

    >>> comes_to(Said(text="So it is 1,350.", ending="stop"), Said(text="**1350** dollars", ending="stop"), Wanted())
    'same'
    >>> comes_to(Said(text="The answer is (B).", ending="stop"), Said(text="C", ending="stop"), Wanted())
    'other'
    >>> comes_to(Said(text="Good morning!", ending="stop"), Said(text="Hello", ending="stop"), Wanted())
    ''
    """
    one, other = close_of(first, wanted), close_of(second, wanted)
    if one is not None and one[0] in FORMS and misshapen(second, wanted):
        return "other"
    if one is None or other is None or one[0] != other[0]:
        return ""
    return "same" if one == other else "other"


def close_of(said: Said, wanted: Wanted) -> tuple[str, object] | None:
    """The kind of its end, and what it comes to. None of an answer that was cut."""
    if said.ending == "length":
        return None
    if said.calls:
        calls = [(call.name, arguments_of(call)) for call in said.calls]
        return ("calls", calls) if all(is_plain(arguments) for _, arguments in calls) else None
    if wanted.json:
        known, value = read(said.text.strip())
        return ("json", value) if known and is_plain(value) else None
    return close_of_text(said.text.rstrip()[-END:])


def close_of_text(end: str) -> tuple[str, object] | None:
    letter = choice(end)
    if letter is not None:
        return "choice", letter
    return ("number", final_number(end)) if _IN_A_NUMBER.search(end) else None


def is_plain(value: object, depth: int = 0) -> bool:
    """Whether it holds names and numbers alone.

    >>> is_plain({"mood": "very good", "at": [1, 2.5, None]}), is_plain({"why": "it rains all day"})
    (True, False)
    """
    if depth > DEEPEST:
        return False
    if isinstance(value, str):
        return len(value) <= CHARACTERS and len(value.split()) <= WORDS
    if isinstance(value, Mapping):
        return all(is_plain(inner, depth + 1) for inner in value.values())
    return not isinstance(value, list) or all(is_plain(inner, depth + 1) for inner in value)
