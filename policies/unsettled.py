"""Where a quick estimate does not suffice: the two ends of what it may be off by come to different models."""

from collections.abc import Iterator, Mapping

import msgspec

from policies.decide import first_choice
from policies.estimates import Span
from policies.facts import Facts
from policies.field import Field, field_of
from policies.pickers.within_target import tiers
from policies.policy import Choose, Policy
from policies.snapshot import Snapshot

Past = tuple[Mapping[str, float], ...]


def unsettled(policy: Policy, facts: Facts, span: Span, snapshot: Snapshot) -> tuple[int, ...]:
    """Places of the prefixes of the conversation whose tier is open, oldest first; the conversation itself is the last.

    A prefix of the past is judged by its chances alone, as its floor is: no load of now or then enters, so one that was
    settled when it was the newest is settled as history, or its tier is no lower. The newest is judged by deciding.
    """
    return left_open(field_of(policy, facts, snapshot), span)


def left_open(field: Field, span: Span) -> tuple[int, ...]:
    """The same, of a field that others may have looked at before."""
    choose = None if field.offer is None else field.offer.route.choose
    if choose is None:
        return ()
    past = tuple(open_past(field.policy, choose, span)) if span.low.earlier else ()
    return (*past, len(span.low.earlier)) if is_open(field, span) else past


def open_past(policy: Policy, choose: Choose, span: Span) -> Iterator[int]:
    """The earlier prefixes whose floor differs between the ends, whatever floor those before them set."""
    places = range(len(choose.among))
    for at, (low, high) in enumerate(zip(span.low.earlier, span.high.earlier, strict=True)):
        if any(
            tiers(choose, policy.models, (low,), place) != tiers(choose, policy.models, (high,), place)
            for place in places
        ):
            yield at


def is_open(field: Field, span: Span) -> bool:
    """Whether the ends of the newest part two models, whichever floor the past sets."""
    if field.fault is not None or len(field.sifted.ready) == 1:
        return False
    low, high = span
    if low.earlier == high.earlier:
        return first_choice(field, low) != first_choice(field, high)
    return parts(field, span, low.earlier) or parts(field, span, high.earlier)


def parts(field: Field, span: Span, past: Past) -> bool:
    low, high = [msgspec.structs.replace(end, earlier=past) for end in span]
    return first_choice(field, low) != first_choice(field, high)
