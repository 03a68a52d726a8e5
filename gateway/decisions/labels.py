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
    """What callers said goes before what signals said."""
    outcome = record.outcome
    if outcome.answered_by is not None:
        if worth is not None:
            yield Label(outcome.answered_by.model, worth, "feedback")
        elif outcome.p_correct is not None and outcome.judgement != "escalated":
            yield Label(outcome.answered_by.model, outcome.p_correct, "judgement")
    if outcome.abandoned_by is not None and outcome.p_correct is not None:
        yield Label(outcome.abandoned_by.model, outcome.p_correct, "judgement")
