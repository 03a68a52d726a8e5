"""How an answer reckons: from the numbers of the question, step by step, to its last number. Or not.

A chain that leaves numbers of the question out, brings in others from nowhere, drops results, or does not end where it says
it ends, is more often wrong. Nothing here knows the right answer.
"""

import re
from collections.abc import Iterable, Mapping

import msgspec

from policies.escalate.numbers import final_number, numbers
from policies.escalate.sums import Equation, equations, false_sums

UP_TO_TWELVE = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"),
    *("eleven", "twelve"),
)
IN_WORDS: Mapping[str, float] = {
    **{word: float(value) for value, word in enumerate(UP_TO_TWELVE)},
    **dict.fromkeys(("half",), 0.5),
    **dict.fromkeys(("once", "single"), 1.0),
    **dict.fromkeys(("twice", "double", "doubled", "both", "pair", "couple"), 2.0),
    **dict.fromkeys(("thrice", "triple", "tripled", "third", "thirds"), 3.0),
    **dict.fromkeys(("quarter", "quarters", "fourth"), 4.0),
    **{
        "fifth": 5.0,
        "week": 7.0,
        "dozen": 12.0,
        "year": 12.0,
        "day": 24.0,
        "month": 30.0,
        "hour": 60.0,
        "minute": 60.0,
    },
}
ALWAYS_AT_HAND = frozenset((0.0, 1.0, 2.0, 7.0, 12.0, 24.0, 60.0, 100.0))
HEDGES = re.compile(r"\b(however|assum(e|ing)|can['’]?t have|cannot have|not possible|impossible)\b", re.IGNORECASE)
WORD = re.compile("[a-z]+")
MOST_NUMBERS = 64
"""Numbers of a question that are followed."""


class Reckoning(msgspec.Struct, frozen=True, kw_only=True):
    """`steps` are equations; `false_steps` of them do not hold. `unused` is the share of the question's numbers that the answer
    never mentions, `invented` counts operands that come from nowhere, `idle` results that nothing was made of.
    `loose_end`: it ends in another number than its last result."""

    steps: int = 0
    false_steps: int = 0
    unused: float = 0.0
    invented: int = 0
    idle: int = 0
    loose_end: bool = False
    hedges: bool = False


def reckoning(question: str, answer: str) -> Reckoning:
    """
    >>> found = reckoning("Ann has 16 eggs and eats 3. How many are left for 4 friends?", "16 - 3 = 13. She has 12.")
    >>> found.steps, round(found.unused, 2), found.loose_end
    (1, 0.33, True)
    """
    shown = equations(answer)
    given = frozenset(numbers(question)[:MOST_NUMBERS])
    said = frozenset(numbers(answer))
    operands = frozenset([value for equation in shown for value in numbers(equation.left)])
    last = final_number(answer)
    return Reckoning(
        steps=len(shown),
        false_steps=false_sums(shown),
        unused=len(given - said) / max(1, len(given)),
        invented=invented(shown, at_hand(given, question)),
        idle=sum(float(equation.right) not in operands for equation in shown[:-1]),
        loose_end=bool(shown) and last is not None and last != float(shown[-1].right),
        hedges=HEDGES.search(answer) is not None,
    )


def at_hand(given: Iterable[float], question: str) -> frozenset[float]:
    """Numbers that a first step may begin with: those given, in digits or in words, and their percentages."""
    words = [IN_WORDS[word] for word in WORD.findall(question.lower()) if word in IN_WORDS]
    start = {*given, *words}
    shares = {other for v in start for other in (v / 100, 100 - v, 1 - v / 100, 1 + v / 100, 100 + v, v * 100)}
    return frozenset(start | shares | ALWAYS_AT_HAND)


def invented(shown: Iterable[Equation], start: frozenset[float]) -> int:
    known = set(start)
    strangers = 0
    for equation in shown:
        strangers += sum(value not in known for value in numbers(equation.left))
        known.add(float(equation.right))
    return strangers
