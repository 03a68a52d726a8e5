"""What a text asks, without the appeals around it: pleas, authority, claims of difficulty, orders of effort, word salad.

Whoever could buy the large model by writing "think very hard" would. So the ends of a turn that ask nothing of their own
are cut off before anything is computed of it, in training as in serving: what is cut has no influence at all.
"""

import re
from collections.abc import Iterator

from classifiers.reading.courtesy import without_courtesy
from classifiers.reading.options import OPTION
from classifiers.reading.repeats import Repeats
from classifiers.reading.scripts import in_latin
from classifiers.reading.sense import open_sense
from classifiers.reading.subject import Subject
from classifiers.reading.tally import YOU, Tally
from classifiers.reading.tokens import Tokens
from classifiers.reading.words import GREETS, STARTS

_END_CHARS = 4096  # of a long text only so much at either end is looked at
_LATEX = ("$", "\\[", "\\(", "\\begin")
_STRONG = re.compile(r"[.!?…][*'\")\]}>]*$")

_SALAD = 4  # so many tokens in which hardly a word holds English together
_SALAD_OF_WORDS = 9  # the same inside a sentence and of words alone, for names come in rows too
_ODD = 0.4
_GREETING_TOKENS, _TASK_WORDS = 4, 2
_SENTENCE_TOKENS = 64  # what is longer asks something
_LINE_TOKENS = 128  # so much of a line is cut at once, at most
_BY_MEANING, _MEANING_CHARS = 16, 512  # so many sentences, so much of each, are judged by what they mean
_MOST_CUTS = 256
_MOST_TURNS = 4  # so often courtesy may stand before an appeal that stands before courtesy
_SPEAKS = ("plain", "word", "appeal")


def without_appeals(text: str) -> str:
    """`text` without what appeals at its ends; all of it where nothing else is left, or where it offers options.

    >>> without_appeals("What is the capital of France? Think very hard and use your best model.")
    'What is the capital of France?'
    >>> without_appeals("Prove it.")
    'Prove it.'
    """
    text = _without(without_courtesy(in_latin(text), greeting=False))
    for _ in range(_MOST_TURNS):
        left = without_courtesy(text)  # a greeting is what is said where nothing but appeals stands behind it
        if left is text:
            break
        text = _without(left)
    return text


def _without(text: str) -> str:
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
    _Cutting(text, tokens).shorten()
    return (0, len(text)) if len(tokens) == many else (tokens[0].start, tokens[-1].end)


class _Cutting:
    """Cuts at both ends of a text until nothing more is to be cut. A cut looks at so much of either end, at most, however much
    stands between them, and what it reads of all the rest it reads once: no text costs more than some 15 ms."""

    def __init__(self, text: str, tokens: Tokens) -> None:
        self._tokens = tokens
        self._repeats = Repeats(tokens.words())
        self._subject = Subject(text)
        self._by_meaning = _BY_MEANING
        self._speaks_at = 0
        self._begun = False
        self._meant_to = -1  # an end that was looked at is not looked at again for a cut at the other one

    def shorten(self) -> None:
        tokens = self._tokens
        for _ in range(_MOST_CUTS):
            for start, end in self._cuts():
                if end - start < len(tokens) and self._says_something(start, end):
                    tokens.first, tokens.last = tokens.first + start, tokens.first + end
                    self._begun = True
                    break
            else:
                return

    def _cuts(self) -> Iterator[tuple[int, int]]:
        """What might be kept, as (start, end); most of what a text is kept whole for."""
        tokens = self._tokens
        many = len(tokens)
        yield 0, self._repeats.tail(tokens.first, tokens.last) - tokens.first
        if tokens.last != self._meant_to or many <= _LINE_TOKENS:
            yield 0, _appeal(tokens)
            yield 0, _salad(tokens)
            self._meant_to = tokens.last
        yield _opening(tokens), many
        yield 0, self._foreign_end()
        yield self._foreign_opening(), many
        if self._begun:
            yield 0, _before_junk(tokens)

    def _says_something(self, start: int, end: int) -> bool:
        """Whether any of these tokens does. Where the first one stands that does is remembered: it only ever gets later."""
        tokens, first = self._tokens, self._tokens.first
        at = max(self._speaks_at, first + start)
        while at < first + end and tokens[at - first].kind not in _SPEAKS:
            at += 1
        if start == 0:
            self._speaks_at = at
        return at < first + end

    def _foreign_end(self) -> int:
        """Where the last sentence begins if it has nothing of what the rest is about, and means to speak of the answer."""
        tokens = self._tokens
        many = len(tokens)
        begins = next((at for at in range(many - 1, max(0, many - _SENTENCE_TOKENS), -1) if _parts(tokens, at)), 0)
        return begins if begins and not _is_the_task(tokens, begins) and self._is_foreign(begins, many) else many

    def _foreign_opening(self) -> int:
        """Where the text goes on after such a first sentence."""
        tokens = self._tokens
        ends = next((at for at in range(1, min(_SENTENCE_TOKENS, len(tokens))) if _parts(tokens, at)), 0)
        return ends if ends and self._is_foreign(0, ends) else 0

    def _is_foreign(self, start: int, end: int) -> bool:
        """Of the sentence at either end; the rest is what remains."""
        tokens, many = self._tokens, len(self._tokens)
        part, rest = tokens.text(start, end), tokens.text(*((end, many) if start == 0 else (0, start)))
        if "?" in part and not any(tokens[at].word in YOU for at in range(start, end)):
            return False  # who asks something asks it of somebody
        if self._by_meaning <= 0 or self._subject.shares(tokens[0].start, tokens[-1].end, part):
            return False
        self._by_meaning -= 1
        return open_sense().is_appeal(part[:_MEANING_CHARS], rest)


def _before_junk(tokens: Tokens) -> int:
    """Where marks and junk begin that nothing follows."""
    end = len(tokens)
    while end and (tokens[end - 1].kind == "strange" or not tokens[end - 1].word):
        end -= 1
    return end


def _appeal(tokens: Tokens) -> int:
    """Where the last sentence begins if it speaks of the answer, or else the longest last part of it that does."""
    begins = many = len(tokens)
    if not many:
        return 0
    tally, last = Tally(), tokens[-1]
    for start in range(many - 1, max(0, many - _SENTENCE_TOKENS), -1):
        token, before = tokens[start], tokens[start - 1]
        tally.add(token)
        bounded = before.ends or token.opens or token.new_line
        if (bounded or token.word in STARTS) and tally.is_appeal(token, last, bounded=bounded):
            begins = start
        if token.new_line or _STRONG.search(before.text):
            break
    return many if _is_the_task(tokens, begins) else begins


def _opening(tokens: Tokens) -> int:
    """Where the text begins after a first sentence that speaks of the answer."""
    tally = Tally()
    for end in range(1, min(_SENTENCE_TOKENS, len(tokens))):
        tally.add(tokens[end - 1])
        if tokens[end - 1].ends or tokens[end].new_line:
            return end if tally.is_appeal(tokens[0], tokens[end - 1], bounded=True) else 0
    return 0


def _is_the_task(tokens: Tokens, begins: int) -> bool:
    """Where nothing but a greeting stands before it, what has words of its own: "Hello! I need a proof that the series …"."""
    if begins > _GREETING_TOKENS or any(tokens[at].word not in GREETS for at in range(begins)):
        return False
    return sum(token.kind == "word" for token in tokens.part(begins, len(tokens))) >= _TASK_WORDS


def _parts(tokens: Tokens, at: int) -> bool:
    return tokens[at].new_line or bool(_STRONG.search(tokens[at - 1].text))


def _salad(tokens: Tokens) -> int:
    """Where the tail of the last line begins that is no English: words without glue, junk, another language."""
    many = len(tokens)
    start, bounded = _after_english(tokens, max(tokens.last_line(), many - _LINE_TOKENS))
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
