"""Retries and fallback as one pure fold: what came of a step, and so what comes next.

A completion is billed and never the same twice. It is asked for again only where the first try cannot have reached
anyone: before the first content, and when the work was surely not done or surely thrown away.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from policies.decision import Call, Decision, Reject
from policies.policy import Resilience

Failure = Literal["unreachable", "overloaded", "failed", "denied", "late", "lost", "refused", "cancelled"]
"""How an attempt failed:

unreachable  nothing was sent
overloaded   turned away before any work
failed       the replica itself reported a fault
denied       our credentials were not accepted there
late         no content came in time on a stream that was then closed, so the work was thrown away
lost         the answer did not come, or was cut; the work may have been done
refused      the request is at fault, whoever is asked
cancelled    the client left
"""

Next = Literal["another", "another_model", "if_unsent", "nobody"]

WHAT_NEXT: Mapping[Failure, Next] = {
    "unreachable": "another",
    "overloaded": "another",
    "failed": "another",
    "denied": "another_model",
    "late": "another",
    "lost": "if_unsent",
    "refused": "nobody",
    "cancelled": "nobody",
}
"""Who is asked after each failure, as long as no content left and attempts remain."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one attempt. `failed` None: answered. `sent`: the request may have reached the replica.

    `content_sent`: the client has seen content.
    """

    failed: Failure | None = None
    sent: bool = False
    content_sent: bool = False


class Attempt(msgspec.Struct, frozen=True):
    """One try and what came of it."""

    call: Call
    outcome: Outcome


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request stands. `step` is the call to perform; None when `finished`.

    `rejected` is set when the decision was to answer nobody; then there is never a step.
    """

    step: Call | None
    left: tuple[Call, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    rejected: Reject | None = None
    retry_uncertain: bool = False

    @property
    def finished(self) -> bool:
        return self.step is None

    @property
    def answered_by(self) -> Call | None:
        """Who answered in full, if anyone did."""
        last = self.attempts[-1] if self.attempts else None
        return last.call if last is not None and last.outcome.failed is None else None


def begin(decision: Decision, resilience: Resilience) -> Progress:
    """Progress before the first attempt: at most `resilience.attempts` of the decision's calls, in order."""
    if isinstance(decision.choice, Reject):
        return Progress(step=None, rejected=decision.choice)
    calls = [step for step in decision.steps if isinstance(step, Call)][: resilience.attempts]
    return Progress(step=calls[0], left=tuple(calls[1:]), retry_uncertain=resilience.retry_uncertain)


def advance(progress: Progress, outcome: Outcome) -> Progress:
    """Progress after the current step came to `outcome`. A finished progress stays as it is.

    >>> two = Progress(step=Call("small", "a"), left=(Call("large", "b"),))
    >>> advance(two, Outcome(failed="unreachable")).step
    Call(model='large', replica='b')
    >>> advance(two, Outcome(failed="lost", sent=True)).finished
    True
    """
    if progress.step is None:
        return progress
    attempts = (*progress.attempts, Attempt(progress.step, outcome))
    left = _still_to_ask(progress, progress.step, outcome)
    return msgspec.structs.replace(progress, step=left[0] if left else None, left=left[1:], attempts=attempts)


def _still_to_ask(progress: Progress, call: Call, outcome: Outcome) -> tuple[Call, ...]:
    """Calls that may follow, in order."""
    if outcome.failed is None or outcome.content_sent:
        return ()
    what = WHAT_NEXT[outcome.failed]
    if what == "another" or (what == "if_unsent" and (progress.retry_uncertain or not outcome.sent)):
        return progress.left
    if what == "another_model":
        return tuple(left for left in progress.left if left.model != call.model)
    return ()
