"""Retries, fallback and escalation as one pure fold: what came of a step, and so what comes next.

A completion is billed and never the same twice. It is asked for again only where the first try cannot have reached
anyone: before the first content, and when the work was surely not done or surely thrown away. An answer that was held back
and given up has reached nobody either: the larger model is asked, and when that fails, whoever gave the first answer is
who serves the client.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec

from policies.decision import Call, Decision, Hold, Reject
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


GivenUp = Literal["", "part", "whole"]
"""Of an answer that was not good enough: how much of it was there."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one attempt. `failed` None: answered. `sent`: the request may have reached the replica.

    `content_sent`: the client has seen content. `given_up`: the answer was held back and not good enough.
    """

    failed: Failure | None = None
    given_up: GivenUp = ""
    sent: bool = False
    content_sent: bool = False


class Attempt(msgspec.Struct, frozen=True):
    """One try and what came of it."""

    call: Call
    outcome: Outcome


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a request stands. `step` is the call to perform; None when `finished`.

    `rejected` is set when the decision was to answer nobody; then there is never a step. `hold` is in force until an
    answer was given up. `second_best` is who gave that answer, while it may still be needed, and `kept` how much of it
    was there. `sends_kept`: nobody answered better, so the whole answer that was kept is sent.
    """

    step: Call | None
    left: tuple[Call, ...] = ()
    hold: Hold | None = None
    second_best: Call | None = None
    kept: GivenUp = ""
    sends_kept: bool = False
    attempts: tuple[Attempt, ...] = ()
    rejected: Reject | None = None
    retry_uncertain: bool = False

    @property
    def finished(self) -> bool:
        return self.step is None

    @property
    def answered_by(self) -> Call | None:
        """Who answered in full, if anyone did."""
        if self.sends_kept:
            return self.second_best
        last = self.attempts[-1] if self.attempts else None
        answered = last is not None and last.outcome.failed is None and not last.outcome.given_up
        return last.call if answered and last is not None else None

    @property
    def retries(self) -> bool:
        """Whether the current step asks once more because an attempt failed, which is no part of an escalation."""
        return self.step is not None and self.second_best is None and bool(self.attempts)

    @property
    def holds(self) -> Hold | None:
        """What judges the answer of the current step, if anything does."""
        watched = self.hold is not None and self.step is not None and self.step.model in self.hold.of
        return self.hold if watched else None


def begin(decision: Decision, resilience: Resilience) -> Progress:
    """Progress before the first attempt: at most `resilience.attempts` of the decision's calls, in order."""
    first = decision.steps[0]
    if isinstance(first, Reject):
        return Progress(step=None, rejected=first)
    left: tuple[Call, ...] = decision.steps[1 : resilience.attempts]  # type: ignore[assignment]  # a Reject stands alone
    return Progress(step=first, left=left, retry_uncertain=resilience.retry_uncertain, hold=decision.hold)


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
    if outcome.failed is None and not outcome.given_up:
        return msgspec.structs.replace(progress, step=None, left=(), attempts=attempts)
    past = msgspec.structs.replace(progress, step=None, attempts=attempts)
    if outcome.failed is None:
        return _escalate(past, progress, outcome.given_up)
    left = () if outcome.content_sent else _still_to_ask(progress, progress.step, outcome.failed, sent=outcome.sent)
    if left:
        return msgspec.structs.replace(past, step=left[0], left=left[1:])
    if outcome.content_sent or outcome.failed == "cancelled":
        return msgspec.structs.replace(past, left=())
    return _turn_back(past, progress, outcome.failed)


def _escalate(past: Progress, before: Progress, kept: GivenUp) -> Progress:
    """The larger model is asked, whatever the number of attempts: this is no retry."""
    assert before.hold is not None
    first, *others = before.hold.to
    return msgspec.structs.replace(
        past, step=first, left=tuple(others), hold=None, second_best=before.step, kept=kept, retry_uncertain=False
    )


def _turn_back(past: Progress, before: Progress, failed: Failure) -> Progress:
    """Nobody is left who would answer better. A whole answer that was kept is sent; of a part, its model is asked again,
    once. A held answer that was lost on the way has reached nobody: the larger model is asked instead of it."""
    if before.kept == "whole":
        return msgspec.structs.replace(past, left=(), sends_kept=True)
    if before.kept == "part":
        return msgspec.structs.replace(past, step=before.second_best, left=(), kept="")
    hold = before.holds
    if hold is not None and failed == "lost":
        return msgspec.structs.replace(past, step=hold.to[0], left=hold.to[1:], hold=None)
    return msgspec.structs.replace(past, left=())


def _still_to_ask(progress: Progress, call: Call, failed: Failure, *, sent: bool) -> tuple[Call, ...]:
    """Calls that may follow, in order."""
    what = WHAT_NEXT[failed]
    if what == "another" or (what == "if_unsent" and (progress.retry_uncertain or not sent)):
        return progress.left
    if what == "another_model":
        return tuple(left for left in progress.left if left.model != call.model)
    return ()
