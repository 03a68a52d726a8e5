"""Retries and fallback: who is asked after which failure. Cases LIFE-07 and LIFE-08."""

from typing import get_args

import pytest

from policies.advance import WHAT_NEXT, Attempt, Failure, Outcome, advance, begin
from policies.decision import Call, Decision, Reject
from policies.policy import Resilience

A, B, C = Call("small", "a"), Call("large", "b"), Call("small", "c")
ANSWERED = Outcome(sent=True, content_sent=True)


def decided(*steps: Call | Reject) -> Decision:
    return Decision(steps=steps, route="r", reason="", policy_hash="")


def test_a_reject_is_finished_before_it_begins() -> None:
    fault = Reject("no_route", "none")
    progress = begin(decided(fault), Resilience())
    assert progress.finished
    assert progress.rejected == fault
    assert advance(progress, ANSWERED) == progress


def test_an_answer_ends_it_and_names_who_answered() -> None:
    progress = advance(begin(decided(A, B), Resilience()), ANSWERED)
    assert (progress.finished, progress.answered_by) == (True, A)
    assert progress.attempts == (Attempt(A, ANSWERED),)


def test_nobody_answered_before_the_first_attempt_and_after_a_failure() -> None:
    progress = begin(decided(A), Resilience())
    assert progress.answered_by is None
    assert advance(progress, Outcome(failed="failed", sent=True)).answered_by is None


@pytest.mark.parametrize(
    ("failed", "sent", "next_step"),
    [
        ("unreachable", False, B),
        ("overloaded", True, B),
        ("failed", True, B),
        ("denied", True, B),
        ("late", True, B),
        ("lost", False, B),
        ("lost", True, None),
        ("refused", True, None),
        ("cancelled", True, None),
    ],
)
def test_which_failures_are_tried_again(failed: Failure, sent: bool, next_step: Call | None) -> None:
    assert advance(begin(decided(A, B), Resilience()), Outcome(failed=failed, sent=sent)).step == next_step


def test_every_failure_has_a_rule() -> None:
    assert set(WHAT_NEXT) == set(get_args(Failure))


@pytest.mark.parametrize("failed", get_args(Failure))
def test_once_content_went_out_there_is_no_second_attempt(failed: Failure) -> None:
    outcome = Outcome(failed=failed, sent=True, content_sent=True)
    assert advance(begin(decided(A, B), Resilience(retry_uncertain=True)), outcome).finished


def test_an_uncertain_loss_is_tried_again_only_where_the_policy_says_so() -> None:
    progress = begin(decided(A, B), Resilience(retry_uncertain=True))
    assert advance(progress, Outcome(failed="lost", sent=True)).step == B


def test_credentials_that_were_not_accepted_are_not_tried_at_the_same_model() -> None:
    progress = begin(decided(A, C, B), Resilience())
    assert advance(progress, Outcome(failed="denied", sent=True)).step == B


def test_attempts_are_bounded_and_remembered_in_order() -> None:
    progress = begin(decided(A, B, C), Resilience(attempts=2))
    for _ in range(5):
        progress = advance(progress, Outcome(failed="overloaded", sent=True))
    assert progress.finished
    assert [attempt.call for attempt in progress.attempts] == [A, B]
