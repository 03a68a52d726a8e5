"""Do two answers come to the same? Told by a choice, JSON, a number, or a few words; else it cannot be told."""

import re

import msgspec

from policies.escalate.numbers import final_number
from policies.escalate.said import Said

CHOICE = re.compile(r"\b(?:answer|option|choice)\b[^\w(]{0,4}(?:is|:)?[\s*]*\(?([A-J])\)?(?![\w'’])")
LETTER = re.compile(r"\s*\(?([A-J])\)?[.\s]*")
FEW = 60
"""Characters that are compared word for word."""


def agree(one: Said, other: Said) -> bool | None:
    """None where it cannot be told.

    >>> agree(Said(text="So the answer is (C).", ending="stop"), Said(text="C", ending="stop"))
    True
    >>> agree(Said(text="It comes to $1,350.", ending="stop"), Said(text="1350 dollars", ending="stop"))
    True
    >>> agree(Said(text="Once upon a time ..." * 9, ending="stop"), Said(text="A long way off ..." * 9, ending="stop"))
    """
    if not (one.text.strip() and other.text.strip()):
        return None
    for comes_to in (choice, json_value, final_number):
        first, second = comes_to(one.text), comes_to(other.text)
        if first is not None and second is not None:
            return first == second
    if max(len(one.text), len(other.text)) > FEW:
        return None
    return words(one.text) == words(other.text)


def choice(text: str) -> str | None:
    """The letter that is chosen; the last one named.

    >>> choice("The answer is B"), choice("(D)"), choice("A dog")
    ('B', 'D', None)
    """
    alone = LETTER.fullmatch(text)
    if alone is not None:
        return alone[1]
    found = CHOICE.findall(text)
    return found[-1] if found else None


def json_value(text: str) -> str | None:
    """An object or a list in one spelling, whatever the order of its keys."""
    try:
        value = msgspec.json.decode(text.encode("utf-8", "surrogatepass"))
    except (msgspec.DecodeError, RecursionError):
        return None
    return msgspec.json.encode(value, order="deterministic").decode() if isinstance(value, dict | list) else None


def words(text: str) -> list[str]:
    return re.findall(r"\w+", text.casefold())
