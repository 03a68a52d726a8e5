"""What a text asks, without the appeals around it: pleas, authority, claims of difficulty, orders of effort, word salad.

Whoever could buy the large model by writing "think very hard" would. So the ends of a turn that ask nothing of their own
are cut off before anything is computed of it, in training as in serving: what is cut has no influence at all.
"""

import re
from collections.abc import Iterator, Sequence

from classifiers.appeal_tokens import Token, Tokens
from classifiers.appeal_words import ADDRESS, GREETS, STARTS
from classifiers.sense import content, open_sense

_END_CHARS = 4096  # of a long text only so much at either end is looked at
OPTION = re.compile(r"^[^\S\n]*(?:\(?[A-J][.)]\s|answer:)", re.IGNORECASE | re.MULTILINE)
"""Of several to choose from. It does not look beyond its line, or empty lines would each be read to their end."""

_LATEX = ("$", "\\[", "\\(", "\\begin")
_STRONG = re.compile(r"[.!?…][*'\")\]}>]*$")

_OF_THE_ANSWER = 0.6  # this part of the words that mean something, and a sentence speaks of the answer
_BETWEEN_US = 0.4  # the same of a sentence with "I" or "you" in it
_SALAD = 4  # so many tokens in which hardly a word holds English together
_SALAD_OF_WORDS = 9  # the same inside a sentence and of words alone, for names come in rows too
_ODD = 0.4
_YOU = ("you", "your", "please")
_GREETING_TOKENS, _TASK_WORDS = 4, 2
_SENTENCE_TOKENS = 64  # what is longer asks something
_PERIODS, _REPEATS = range(1, 25), 3


def without_appeals(text: str) -> str:
    """`text` without what appeals at its ends; all of it where nothing else is left, or where it offers options.

    >>> without_appeals("What is the capital of France? Think very hard and use your best model.")
    'What is the capital of France?'
    >>> without_appeals("Prove it.")
    'Prove it.'
    """
    if len(text) <= 2 * _END_CHARS:
        start, end = _asked(text)
        return text[start:end]
    seen = text[:_END_CHARS] + "\n" + text[-_END_CHARS:]
    start, end = _asked(seen)
    return text[start : end if end <= _END_CHARS else len(text) - (len(seen) - end)]


def _asked(text: str) -> tuple[int, int]:
    """Where the text begins and ends without appeals."""
    if len(OPTION.findall(text)) > 1:
        return 0, len(text)
    tokens = Tokens(text)
    many = len(tokens)
    _shorten(tokens)
    return (0, len(text)) if len(tokens) == many else (tokens[0].start, tokens[-1].end)


def _shorten(tokens: Tokens) -> None:
    """Cuts until nothing more is to be cut."""
    begun, going = False, True
    while going:
        going = False
        for start, end in _cuts(tokens, begun=begun):
            if end - start < len(tokens) and _says_something(tokens, start, end):
                tokens.first, tokens.last = tokens.first + start, tokens.first + end
                begun = going = True
                break


def _cuts(tokens: Tokens, *, begun: bool) -> Iterator[tuple[int, int]]:
    """What might be kept, as (start, end); most of what a text is kept whole for."""
    many = len(tokens)
    yield 0, _repeat(tokens)
    yield 0, _appeal(tokens)
    yield 0, _salad(tokens)
    yield _opening(tokens), many
    yield 0, _foreign_end(tokens)
    yield _foreign_opening(tokens), many
    if begun and many:
        yield 0, many - (tokens[-1].kind == "strange" or not tokens[-1].word)


def _says_something(tokens: Tokens, start: int, end: int) -> bool:
    return any(tokens[at].kind in ("plain", "word", "appeal") for at in range(start, end))


def _repeat(tokens: Tokens) -> int:
    """Where a tail begins that says the same at least three times over."""
    words = tokens.words()
    for period in _PERIODS:
        unit, begins = words[-period:], len(words) - period
        while begins >= period and words[begins - period : begins] == unit:
            begins -= period
        if len(words) - begins >= max(_REPEATS * period, _SALAD):
            return begins
    return len(words)


def _appeal(tokens: Tokens) -> int:
    """Where the last sentence begins if it speaks of the answer, or else the longest last part of it that does."""
    begins = many = len(tokens)
    for start in range(many - 1, 0, -1):
        token, before = tokens[start], tokens[start - 1]
        bounded = before.ends or token.opens or token.new_line
        if (bounded or token.word in STARTS) and _is_appeal(tokens.part(start, many), bounded):
            begins = start
        if token.new_line or _STRONG.search(before.text):
            break
    return many if _is_the_task(tokens, begins) else begins


def _opening(tokens: Tokens) -> int:
    """Where the text begins after a first sentence that speaks of the answer."""
    for end in range(1, min(64, len(tokens))):
        if tokens[end - 1].ends or tokens[end].new_line:
            return end if _is_appeal(tokens.part(0, end), True) else 0
    return 0


def _foreign_end(tokens: Tokens) -> int:
    """Where the last sentence begins if it has nothing of what the rest is about, and means to speak of the answer."""
    many = len(tokens)
    begins = next((at for at in range(many - 1, max(0, many - _SENTENCE_TOKENS), -1) if _parts(tokens, at)), 0)
    return begins if begins and not _is_the_task(tokens, begins) and _is_foreign(tokens, begins, many) else many


def _is_the_task(tokens: Tokens, begins: int) -> bool:
    """Where nothing but a greeting stands before it, what has words of its own: "Hello! I need a proof that the series …"."""
    if begins > _GREETING_TOKENS or any(tokens[at].word not in GREETS for at in range(begins)):
        return False
    return sum(token.kind == "word" for token in tokens.part(begins, len(tokens))) >= _TASK_WORDS


def _foreign_opening(tokens: Tokens) -> int:
    """Where the text goes on after such a first sentence."""
    ends = next((at for at in range(1, min(_SENTENCE_TOKENS, len(tokens))) if _parts(tokens, at)), 0)
    return ends if ends and _is_foreign(tokens, 0, ends) else 0


def _parts(tokens: Tokens, at: int) -> bool:
    return tokens[at].new_line or bool(_STRONG.search(tokens[at - 1].text))


def _is_foreign(tokens: Tokens, start: int, end: int) -> bool:
    """Of the sentence at either end; the rest is what remains. Who asks something asks it of somebody."""
    part, rest = tokens.text(start, end), tokens.text(*((end, len(tokens)) if start == 0 else (0, start)))
    if "?" in part and not any(tokens[at].word in _YOU for at in range(start, end)):
        return False
    return not content(part) & content(rest) and open_sense().is_appeal(part, rest)


def _is_appeal(part: Sequence[Token], bounded: bool) -> bool:
    kinds = [token.kind for token in part]
    about, other = kinds.count("appeal"), kinds.count("word")
    if "?" in part[-1].text and not (bounded and any(token.word in _YOU for token in part)):
        return False
    if len(part) == 1:
        return about == 1 and (part[0].ends or part[0].opens)
    if sum(token.kind == "other" and bool(token.word) for token in part) > 1:
        return False  # a formula or figures: that is a question of its own
    if not bounded:
        return about > 1 and not other and len(part) > 2
    counted = "?" in part[-1].text or "other" in kinds
    address = 0 if counted else sum(token.word in ADDRESS for token in part)
    if not about or (other and about + address == 1):
        return False
    return about + address >= (_BETWEEN_US if address else _OF_THE_ANSWER) * (about + address + other)


def _salad(tokens: Tokens) -> int:
    """Where the tail of the last line begins that is no English: words without glue, junk, another language."""
    many = len(tokens)
    start, bounded = _after_english(tokens, tokens.last_line())
    part = tokens.part(start, many)
    strange = sum(token.kind == "strange" for token in part)
    if part and part[0].text.startswith(_LATEX):
        return many
    if not bounded and strange < _ODD * len(part) and len(part) < _SALAD_OF_WORDS:
        return many
    odd = strange + sum(token.kind == "word" and not token.text.endswith(",") for token in part)
    return start if start and len(part) >= _SALAD and odd >= _ODD * len(part) else many


def _after_english(tokens: Tokens, line: int) -> tuple[int, bool]:
    """Behind the last place where two words of glue stand close together, or the stop after it; whether there is one."""
    many = len(tokens)
    start = next((at + 1 for at in range(many - 1, line, -1) if _is_english(tokens, line, at)), line)
    for at in range(max(line + 1, start), min(many, start + _SALAD)):
        if tokens[at - 1].ends:
            return at, True
    if start:
        return start, start == line
    return next((at for at in range(many) if tokens[at].kind == "strange"), 0), False


def _is_english(tokens: Tokens, line: int, at: int) -> bool:
    """A word of glue here, one within the three before, and nothing strange near them."""
    if tokens[at].kind != "plain":
        return False
    before = tokens.part(max(line, at - 3), at)
    near = [*before, *tokens.part(at, min(at + 2, len(tokens)))]
    return any(token.kind == "plain" for token in before) and not any(token.kind == "strange" for token in near)
