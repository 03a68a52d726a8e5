"""What callers said of answers, as one number each."""

from collections.abc import Iterable, Mapping

from gateway.decisions.record import FeedbackRecord, Record

WORTH = {"good": 1.0, "bad": 0.0}

Key = tuple[str, str]
"""Tenant and request id: feedback counts for the request of the same tenant."""


def last_words(records: Iterable[Record]) -> Mapping[Key, FeedbackRecord]:
    """The last word on each request that rates it: it stands in place of those before. What rates nothing replaces nothing."""
    found: dict[Key, FeedbackRecord] = {}
    for record in records:
        if isinstance(record, FeedbackRecord) and worth_of(record) is not None:
            key = record.tenant, record.request_id
            if key not in found or found[key].at <= record.at:
                found[key] = record
    return found


def worths(records: Iterable[Record]) -> Mapping[Key, float]:
    """What was said of each request, where that comes to a number."""
    return {key: worth for key, told in last_words(records).items() if (worth := worth_of(told)) is not None}


def worth_of(told: FeedbackRecord) -> float | None:
    """A score as it is; else good is 1, and bad, or an answer that had to be mended, 0. None where nothing of that is told.

    >>> worth_of(FeedbackRecord(at=0.0, request_id="r", tenant="t", rating="good", score=0.25))
    0.25
    """
    if told.score is not None:
        return told.score
    if told.rating is not None:
        return WORTH[told.rating]
    return 0.0 if told.corrected else None
