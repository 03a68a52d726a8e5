"""What form of answer a request asks for. Told by the request alone, so before anybody is asked, and alike of every dialect.

A signal means one thing for one form and another for the next: a fraction is rarely what a question for a number wants, and
says nothing of a choice; a long answer is usual for code. So weights may be stated for each.
"""

import re
from typing import Literal, get_args

from policies.escalate.said import Wanted

Task = Literal["", "tools", "json", "choice", "code", "number", "text"]
"""
tools    tools may be called
json     JSON is asked for, of a schema or of none
choice   the question lists options by letters
code     it holds code, or asks for some
number   it reckons: with two numbers or more that are no years, or for how much there is of something
text     anything else
""       nobody looked
"""

TASKS: tuple[Task, ...] = tuple(task for task in get_args(Task) if task)

READS = 1_024
"""Characters looked at, at either end of the question. A longer one holds numbers for other reasons than to reckon."""

OPTION = re.compile(r"^[ \t]*\(?([A-J])[).:][ \t]|\(([A-J])\)[ \t]", re.MULTILINE)
CODE = re.compile(
    r"```|^[ \t]*(?:(?:async )?def |class |function |public |SELECT ).*[(:;{*]"
    r"|^[ \t]*(?:assert |import \w+$|from \S+ import |#include)"
    r"|\b[Ww]rite (?:an? )?(?:\w+ )?(?:function|script|program|query|regex|class)\b"
    r"|\b(?:Python|JavaScript|TypeScript|SQL|Java|Rust|Golang)\b|\bC\+\+",
    re.MULTILINE,
)
CODE_MARKS = (
    "```", "def ", "class", "function", "public ", "SELECT ", "assert ", "import ", "#include", "script", "program", "query",
    "regex", "Python", "Script", "SQL", "Java", "Rust", "Golang", "C++",
)  # fmt: skip
"""One of them is in all that `CODE` finds, and is looked for in a tenth of the time."""
NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?")
YEAR = re.compile(r"(?:1[5-9]|20)\d\d")
RECKONS = re.compile(
    r"\bhow (?:many|much|old|long|far|tall)\b|\b(?:calculate|compute|evaluate)\b"
    r"|\bfind the (?:\w+ )?(?:value|sum|number|area)\b"
    r"|\bwie ?viele?\b|\bcombien\b|\bcuánt[oa]s?\b|\bquant[oaie]s?\b|сколько|多少|\\frac|\\boxed",
    re.IGNORECASE,
)


def task_of(wanted: Wanted) -> Task:
    """
    >>> task_of(Wanted(question="Which is a fruit?\\nA. a stone\\nB. a plum")), task_of(Wanted(question="Sing!", json=True))
    ('choice', 'json')
    >>> task_of(Wanted(question="Ann has 3 pears and eats 2. What is left?")), task_of(Wanted(question="Who won in 1990?"))
    ('number', 'text')
    """
    if wanted.tools:
        return "tools"
    if wanted.json:
        return "json"
    question = wanted.question
    seen = question if len(question) <= 2 * READS else f"{question[:READS]}\n{question[-READS:]}"
    if lists_options(seen):
        return "choice"
    if holds_code(seen):
        return "code"
    return "number" if len(question) <= READS and reckons(seen) else "text"


def lists_options(text: str) -> bool:
    """Two of them at least, the first ones of the alphabet."""
    if not all(any(f"{letter}{mark}" in text for mark in ").:") for letter in "AB"):
        return False
    letters = {letter for pair in OPTION.findall(text) for letter in pair}
    return "A" in letters and "B" in letters


def holds_code(text: str) -> bool:
    return any(mark in text for mark in CODE_MARKS) and CODE.search(text) is not None


def reckons(text: str) -> bool:
    numbers = sum(not YEAR.fullmatch(number) for number in NUMBER.findall(text))
    return (numbers > 1 and "?" in text) or (numbers > 0 and RECKONS.search(text) is not None)
