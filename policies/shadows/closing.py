"""What two answers come to, where a difference means that one of them is wrong: a choice, a number that was asked for or is
nearly all that is said, or JSON and calls of tools that hold nothing but numbers and single words. Of all else a difference
says nothing: two good letters differ, also where they end in a number."""

import re
from collections.abc import Mapping
from typing import Literal

from policies.escalate.agreement import choice
from policies.escalate.numbers import final_number
from policies.escalate.said import Said, Wanted
from policies.escalate.shape import DEEPEST, misshapen, read
from policies.escalate.task import task_of
from policies.shadows.likeness import arguments_of

ComesTo = Literal["same", "other", ""]
"""Of two answers; "" where it cannot be told."""

FORMS = ("calls", "json")
"""Kinds of ends that have a form."""

END = 160
"""Characters in which an answer says what it comes to."""

_IN_A_NUMBER = re.compile(
    r"(?<![A-Za-z\d_^])(?<!\^[-{])(?<![\d.][eE][+-])"
    r"\d[\d,]*(?:\.\d+)?[^\w\n]*(?:[^\W\d]{1,12}[^\w\n]*)?\s*\Z"
)
"""The number, which is no exponent and no index, its marks, and one word for what it counts."""

BRIEF = 40
"""Characters of an answer that says a number and little else."""

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
    return "same" if is_same(one, other) else "other"


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
    text = said.text.strip()
    letter = choice(text[-END:])
    if letter is not None:
        return "choice", letter
    return number_of(text[-END:]) if len(text) <= BRIEF or task_of(wanted) == "number" else None


def number_of(end: str) -> tuple[str, object] | None:
    """
    >>> number_of("6 * 7 = 42"), number_of("2^10"), number_of("6.02e23"), number_of("x_1")
    (('number', 42.0), None, None, None)
    """
    return ("number", final_number(end)) if _IN_A_NUMBER.search(end) else None


def is_same(one: object, other: object) -> bool:
    """
    >>> is_same({"n": 1}, {"n": 1.0}), is_same({"paid": [True]}, {"paid": [1]})
    (True, False)
    """
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        return one.keys() == other.keys() and all(is_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(is_same, one, other))
    return one == other


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
