"""What a log says of answers that an escalation judged and let through: what they were judged by, and whether callers
found them right. Of an answer that was given up nobody ever said anything."""

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from gateway.decisions.lessons import policy_at
from gateway.decisions.record import DecisionRecord, Record
from gateway.decisions.replay import PolicyOf, decisions
from gateway.decisions.worth import worths

if TYPE_CHECKING:
    from classifiers.training.weigh import Outcome

RIGHT = 0.5
"""What callers said, 0 to 1, comes to right from here on."""


def answers(records: Callable[[], Iterable[Record]], policy_of: PolicyOf) -> "Iterator[tuple[str, Outcome]]":
    """The model, and what is known of its answer. The log is read twice. Needs the classifiers' libraries.

    Whether an answer is let through hangs on its measures and the estimate alone, and both are weighed: so that others were
    given up does not bend the weights.
    """
    from classifiers.training.weigh import Outcome

    said = worths(records())
    for record in decisions(records()):
        outcome, worth = record.outcome, said.get((record.tenant, record.request_id))
        by = outcome.answered_by
        if by is None or worth is None or outcome.measures is None or outcome.abandoned_by is not None:
            continue
        p_good = estimated(record, by.model, policy_of)
        yield by.model, Outcome(outcome.measures, worth >= RIGHT, p_good, record.facts.task)


def estimated(record: DecisionRecord, model: str, policy_of: PolicyOf) -> float | None:
    policy = policy_at(policy_of, record)
    known = None if policy is None else policy.arm(record.decision.assignments).models.get(model)
    return None if known is None else record.estimate.p_good.get(known.head)
