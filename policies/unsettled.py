"""Where a quick estimate does not suffice: the two ends of what it may be off by come to different models."""

from collections.abc import Iterator

from policies.decide import first_choice
from policies.estimates import Span
from policies.facts import Facts
from policies.field import Field, field_of
from policies.offer import Offer
from policies.pickers.preference import known_places
from policies.pickers.within_target import tiers_by_floor
from policies.policy import Policy
from policies.snapshot import Snapshot


def unsettled(policy: Policy, facts: Facts, span: Span, snapshot: Snapshot) -> tuple[int, ...]:
    """Places of the prefixes of the conversation whose tier is open, oldest first; the conversation itself is the last.

    A prefix of the past is judged by its chances alone, as its floor is: no load of now or then enters, so one that was
    settled when it was the newest is settled as history, or its tier is no lower. The newest is judged by deciding.
    """
    return left_open(field_of(policy, facts, snapshot), span)


def left_open(field: Field, span: Span) -> tuple[int, ...]:
    """The same, of a field that others may have looked at before."""
    offer = field.offer
    if offer is None or offer.route.choose is None:
        return ()
    past = tuple(open_past(offer, span)) if span.low.earlier else ()
    return (*past, len(span.low.earlier)) if is_open(field, offer, span) else past


def open_past(offer: Offer, span: Span) -> Iterator[int]:
    """The earlier prefixes whose floor differs between the ends, whatever floor those before them set."""
    for at, (low, high) in enumerate(zip(span.low.earlier, span.high.earlier, strict=True)):
        if low != high and tiers_by_floor(offer, low) != tiers_by_floor(offer, high):
            yield at


def is_open(field: Field, offer: Offer, span: Span) -> bool:
    """Whether the ends of the newest part two models, whichever floor the past sets."""
    if field.fault is not None or len(field.ready) == 1:
        return False
    low, high = span
    for past in (low.earlier,) if low.earlier == high.earlier else (low.earlier, high.earlier):
        known = known_places(field.policy, offer, field.facts, field.taken, past)
        if first_choice(field, offer, known, low) != first_choice(field, offer, known, high):
            return True
    return False
