"""What no estimate is made of: a question without text, or in a script that the encoder doesn't read."""

from collections.abc import Sequence

from classifiers.features import not_latin_share
from classifiers.question import Question
from classifiers.turns import MAX_TURNS

MAX_NOT_LATIN = 0.2


def outside(question: Question) -> str:
    """Why this question can't be estimated, or "".

    >>> outside(Question(("hi",))), outside(Question(("hi", "")))
    ('', 'the newest turn has no text')
    """
    return outside_of(question, turns_with_text(question))


def outside_of(question: Question, turns: Sequence[str]) -> str:
    """The same, where those of its turns that have text are known."""
    if not question.turns or not question.turns[-1].strip():
        return "the newest turn has no text"
    share = max(map(not_latin_share, turns))
    return f"{share:.0%} of a turn's letters are not Latin; the encoder reads English" if share > MAX_NOT_LATIN else ""


def turns_with_text(question: Question) -> list[str]:
    """The newest 16 turns that have text, oldest first."""
    return [question.turns[at] for at in places_with_text(question)]


def places_with_text(question: Question) -> list[int]:
    """Where those stand."""
    places: list[int] = []
    for at, turn in enumerate(question.turns):
        if turn.strip():
            places.append(at)
    return places if len(places) <= MAX_TURNS else places[-MAX_TURNS:]
