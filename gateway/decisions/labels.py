"""How well a model answered, as one number, by who said so."""

from collections.abc import Iterator
from typing import Literal, NamedTuple

from gateway.decisions.record import DecisionRecord

Source = Literal["feedback", "judgement", "shadow"]
"""feedback   what callers said of the answer that they got
judgement  the chance of being right that an escalation's signals gave an answer, kept or given up
shadow     what another model's answer to the same says of it (`shadowed.py`)
"""


class Label(NamedTuple):
    """How well a model answered, 0 to 1."""

    model: str
    quality: float
    source: Source


def labels_of(record: DecisionRecord, worth: float | None) -> Iterator[Label]:
    """One of each model at most. What callers said goes before what signals said, also where these spoke of an answer that was
    given up and the same model was asked again."""
    outcome, rated = record.outcome, None
    if outcome.answered_by is not None and worth is not None:
        rated = outcome.answered_by.model
        yield Label(rated, worth, "feedback")
    judged = outcome.abandoned_by
    if judged is None and outcome.judgement != "escalated":
        judged = outcome.answered_by
    if judged is not None and judged.model != rated and outcome.p_correct is not None:
        yield Label(judged.model, outcome.p_correct, "judgement")
