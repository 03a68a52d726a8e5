"""How else a turn can be read: without sentences at its ends that ask nothing and share nothing with what is asked.

"What is the capital of France? The committee consists of logicians." may mean its second sentence, so nothing is cut off. But
what asks nothing must not buy the large model: of both readings the one with the lower gain counts.
"""

import re
from collections.abc import Sequence

import numpy as np

from classifiers.heads.inputs import Floats
from classifiers.outcomes.own import first_and_last
from classifiers.reading.amid import amid
from classifiers.reading.apart import open_apart
from classifiers.reading.appeals import without_appeals
from classifiers.reading.asides import may_have_aside, without_middle, without_opening
from classifiers.reading.clauses import clause, may_have_clause
from classifiers.reading.courtesy import asks
from classifiers.reading.lexicon import GROUPS
from classifiers.reading.manners import REGRETS
from classifiers.reading.openers import (
    DETERMINES,
    FORM,
    HOW,
    MANNER,
    MINE,
    OBLIGES,
    ORDERS,
    ORDERS_IN_S,
    QUESTION,
    REFERS,
    REPLY,
    SKIPPED,
    STANDS_FOR,
    WORD,
)
from classifiers.reading.options import OPTION
from classifiers.reading.sense import content
from classifiers.reading.tokens import Token, Tokens
from classifiers.reading.words import ADDRESS, APPEAL, GREETS, PLAIN

_MOST_CHARS = 1024  # in more than this a sentence weighs little
_STRONG = re.compile(r"[.!?…][*'\")\]}>]*$")
_MARKED_UP = re.compile(r"```|\"\"\"|'''|[$\\\\]")
_TWO = re.compile(r"[.!?…][*'\")\]}>]*\s+\S|\n\s*\S|\w\s+[A-Z][a-z]")  # where a second sentence may begin
_FEWEST_WORDS = 3
_GREETING_CHARS = 40
_STRANGE = re.compile(r"[^\w\s'’\"“”.,;:!?()-]|\w[^\w\s'’.-]\w|[^\W\d]\d|\d[^\W\d]")  # without one nothing is junk
_HELP = frozenset(("help", "assist", "advice", "look", "hello", "fellow", "everyone"))
_JUNK = 0.4  # of what follows the first strange thing
_MANNER_FROM_WORDS = 5  # "prove it" may be all that is asked; who says at length how, says how
_OPENING_TOKENS = 64  # what is told at more length before it asks belongs to it
_DATA = re.compile(r"[\d`\"“$\\{}\[\]=<>]")


def readings(turn: str) -> tuple[str, ...]:
    """What the turn asks, without appeals; and its core, without what was put behind or before it, where that is something
    else. Of a greeting that was cut off as an appeal, and a demand behind it, the greeting is a reading too."""
    asked = without_appeals(turn)
    whole = asked if asked == turn or _has_a_matter(asked) else core(turn)
    inside = amid(turn)
    least = open_apart().without(alone(asked if inside == turn else without_appeals(inside)))
    if _only_greets(least) and not MINE.isdisjoint(WORD.findall(asked.lower())):
        least = asked  # who greets and goes on with what is the matter with "our" things
    return tuple(dict.fromkeys((asked, least, whole if _is_hail(whole) else asked)))


def _has_a_matter(asked: str) -> bool:
    """It asks or orders something that is no form of an answer: who greets before that came for it."""
    return asks(asked) and FORM.isdisjoint(WORD.findall(asked[:_MOST_CHARS].lower()))


def alone(asked: str) -> str:
    """A core without what stands before a light question, or within it."""
    found = core(asked)
    if len(found) > _MOST_CHARS or "```" in found or not may_have_aside(found) or len(OPTION.findall(found)) > 1:
        return found
    return without_middle(core(without_opening(found)))


def lower(rows: Floats, models: Sequence[str]) -> int:
    """Which of these chances, [readings, models], promises the least gain of the large model over the small one."""
    first, last = first_and_last(models)
    return int(np.argmin(rows[:, last] - rows[:, first]))


def core(asked: str) -> str:
    """`asked`, whose appeals are gone already, without such sentences; itself where there is none.

    >>> core("What is the capital of France? The committee consists of logicians.")
    'What is the capital of France?'
    >>> core("Sort the names. Then prove that no sort is faster.")
    'Sort the names. Then prove that no sort is faster.'
    """
    if len(asked) > _MOST_CHARS or len(OPTION.findall(asked)) > 1:
        return asked
    if _STRANGE.search(asked) and (before := _before_junk(Tokens(asked))):
        return before
    if _MARKED_UP.search(asked):
        return asked
    if not _TWO.search(asked):
        return _without_clause(asked)
    tokens = Tokens(asked)
    many = len(tokens)
    while _shorten(tokens):
        pass
    return _without_clause(asked if len(tokens) == many else tokens.text(0, len(tokens)))


def _is_hail(text: str) -> bool:
    """A greeting and no more; "sorry" alone is none, but what is left of a plea."""
    words = WORD.findall(text.lower())
    return bool(words) and _only_greets(text) and REGRETS.isdisjoint(words)


def _only_greets(text: str) -> bool:
    return len(text) <= _GREETING_CHARS and GREETS.issuperset(WORD.findall(text.lower()))


def _without_clause(asked: str) -> str:
    if not may_have_clause(asked):
        return asked
    tokens = Tokens(asked)
    end = clause(tokens)
    return asked if end == len(tokens) else tokens.text(0, end)


def _before_junk(tokens: Tokens) -> str:
    """A greeting, or a question that is whole and means nothing that follows, where junk does; or ""."""
    end = next((at for at in range(len(tokens)) if tokens[at].kind == "strange"), 0)
    junk = sum(not tokens[at].word or tokens[at].kind == "strange" for at in range(end, len(tokens)))
    if not end or junk < max(_FEWEST_WORDS, _JUNK * (len(tokens) - end)):
        return ""
    asks = next((at for at in range(end, 0, -1) if "?" in tokens[at - 1].text), 0)
    if asks and not _refers(tokens.text(0, asks)):
        return tokens.text(0, asks)
    greets = next(
        (at for at in range(min(end, _FEWEST_WORDS)) if tokens[at].word not in GREETS), min(end, _FEWEST_WORDS)
    )
    return tokens.text(0, greets) if greets else ""


def _shorten(tokens: Tokens) -> bool:
    """Takes such sentences off one end."""
    if (end := _idle_end(tokens)) < len(tokens):
        tokens.last = tokens.first + end
        return True
    start = _idle_opening(tokens)
    tokens.first += start
    return start > 0


def _idle_end(tokens: Tokens) -> int:
    """Where the last sentences begin that ask nothing: as few of them as share nothing with what remains."""
    end = many = len(tokens)
    for at in range(many - 1, 0, -1):
        if _begins(tokens, at):
            if not _asks_nothing(tokens, at, end):
                break
            if _is_other(tokens, (at, many), (0, at)):
                return at
            end = at
    return many


def _idle_opening(tokens: Tokens) -> int:
    """Where the text goes on after such first sentences, if nothing in it means them."""
    start, many = 0, len(tokens)
    for at in range(1, min(many, _OPENING_TOKENS)):
        if _is_apart(tokens[at - 1], tokens[at]):
            if not _asks_nothing(tokens, start, at):
                break
            if not _refers(tokens.text(at, many)) and _is_other(tokens, (0, at), (at, many)):
                return at
            start = at
    return 0


def _begins(tokens: Tokens, at: int) -> bool:
    """A sentence: apart from the one before, or with a capital and a word that it might begin with."""
    before, token = tokens[at - 1], tokens[at]
    if _is_apart(before, token):
        return True
    follows = tokens[at + 1].word if at + 1 < len(tokens) else ""
    opens = token.word in MANNER or token.word in PLAIN or token.word in ORDERS or follows in DETERMINES
    return opens and token.text.istitle() and len(token.text) > 1 and before.text[-1].isalnum()


def _is_apart(before: Token, token: Token) -> bool:
    """After a stop, or in a new line."""
    return token.new_line or bool(_STRONG.search(before.text))


def _is_other(tokens: Tokens, part: tuple[int, int], rest: tuple[int, int]) -> bool:
    """Whether the rest asks something, and of nothing that the part speaks of. "Please help." asks for what is told of me."""
    mine = not MINE.isdisjoint(WORD.findall(tokens.text(*part).lower()))
    about = content(tokens.text(*rest))
    if mine and (about <= _HELP or _only_greets(tokens.text(*rest))):
        return False
    return _asks(tokens, *rest) and not content(tokens.text(*part)) & about


def _refers(text: str) -> bool:
    return not REFERS.isdisjoint(WORD.findall(text.lower()))


def _asks_nothing(tokens: Tokens, start: int, end: int) -> bool:
    """A sentence that orders how to answer, or a statement without figures that is no requirement."""
    text, part = tokens.text(start, end), tokens.part(start, end)
    words = [token.word for token in part if token.word and token.word not in SKIPPED and not _is_manner(token.word)]
    if "?" in text or _DATA.search(text) or len(words) < _FEWEST_WORDS:
        return False
    opens, follow = words[0], set(words[1:3])
    if opens in MANNER or not REPLY.isdisjoint(words[1:4]):
        return True
    return _tells_how(words) if opens in ORDERS else _states(opens) and not follow & OBLIGES


def _is_manner(word: str) -> bool:
    """ "Surely", "honestly" before what a sentence says."""
    return word.endswith("ly") and word not in ORDERS and word not in MANNER


def _tells_how(order: Sequence[str]) -> bool:
    """An order without an object of its own: "derive it from first principles …", "write for an audience of …"."""
    return order[1] in HOW or (order[1] in STANDS_FOR and len(order) >= _MANNER_FROM_WORDS)


def _states(opens: str) -> bool:
    many = opens.endswith("s") and opens not in ORDERS_IN_S
    return opens not in ORDERS and (opens in PLAIN or opens in ADDRESS or opens in APPEAL or many)


def _asks(tokens: Tokens, start: int, end: int) -> bool:
    """A question, an order, or small talk."""
    if "?" in tokens.text(start, end):
        return True
    opens = (tokens[at].word for at in range(start, end) if at == start or _begins(tokens, at))
    small_talk = end - start <= _FEWEST_WORDS or tokens[start].word in GROUPS["greeting"]
    return small_talk or any(word in QUESTION or word in ORDERS for word in opens)
