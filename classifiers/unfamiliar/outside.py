"""What no estimate is made of: a question without text, or in a script that the encoder doesn't read."""

from classifiers.question import Question
from classifiers.reading.scripts import in_latin, not_latin_share
from classifiers.turns import MAX_TURNS

MAX_NOT_LATIN = 0.2

NOTHING = Question(())


def outside(question: Question) -> str:
    """Why this question can't be estimated, or "".

    >>> outside(Question(("hi",))), outside(Question(("hi", "")))
    ('', 'the newest turn has no text')
    """
    return outside_of(with_text(question))


def outside_of(asks: Question) -> str:
    """The same of its turns that have text; none where the newest has not."""
    if not asks.turns:
        return "the newest turn has no text"
    if all(map(str.isascii, asks.turns)):
        return ""
    share = max([not_latin_share(in_latin(turn)) for turn in asks.turns])
    return f"{share:.0%} of a turn's letters are not Latin; the encoder reads English" if share > MAX_NOT_LATIN else ""


def with_text(question: Question) -> Question:
    """The newest 16 turns that have text, oldest first; none where the newest has not."""
    turns = question.turns
    if not turns or not turns[-1].strip():
        return NOTHING
    if len(turns) <= MAX_TURNS and all(map(str.strip, turns)):
        return question
    kept, names = [at for at, turn in enumerate(turns) if turn.strip()][-MAX_TURNS:], question.names
    return Question(tuple([turns[at] for at in kept]), tuple([names[at] for at in kept]) if names else ())
