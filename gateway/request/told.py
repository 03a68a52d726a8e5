"""What the client is told beside an answer or an error: who was asked, by which rule, and why."""

from collections.abc import Sequence

from backends.errors import UpstreamError
from gateway.request.reply import REQUEST_ID, Headers, safe_headers
from gateway.request.settle import Books
from policies.decision import Call, Decision

Failures = Sequence[tuple[Call, UpstreamError]]
"""The attempts of one request that failed, in order."""

SHOWN_TERMS = ("affinity", "wait")

LEFT_OUT = "x-turnout-left-out"
"""What of the request the model that is asked was not told."""

LONGEST_CANDIDATES = 4_096
"""Characters of the candidates in a header; `/v1/route` tells all of them."""

LONGEST_REASON = 512
"""Characters of a reason in a header; the log has all of it."""


_WHOEVER_ANSWERS = frozenset((REQUEST_ID, "x-turnout-route", "x-turnout-policy", "x-turnout-experiment"))


def told(books: Books) -> Headers:
    """Everything that is known by now: before a decision the id alone, before an attempt no model."""
    headers, decision = {REQUEST_ID: books.request_id}, books.decision
    if books.asked is not None:
        headers["x-turnout-model"] = books.asked.model
    if decision is not None:
        headers["x-turnout-route"] = decision.route
        headers["x-turnout-reason"] = books.reason[:LONGEST_REASON]
        headers["x-turnout-policy"] = decision.policy_hash
        if decision.assignments:
            headers["x-turnout-experiment"] = variants_of(decision)
        if books.asked is not None and books.asked.model in decision.untold:
            headers[LEFT_OUT] = "thinking"
        if books.shows_candidates:
            headers["x-turnout-candidates"] = candidates_of(decision)[:LONGEST_CANDIDATES]
    text = "".join(headers.values())
    return headers if text.isascii() and text.isprintable() else safe_headers(headers)


def told_early(books: Books) -> Headers:
    """The same where it is not known yet who answers."""
    return {name: value for name, value in told(books).items() if name in _WHOEVER_ANSWERS}


def variants_of(decision: Decision) -> str:
    """`experiment=variant` of each experiment that it is part of."""
    return ", ".join([f"{found.experiment}={found.variant}" for found in decision.assignments])


def candidates_of(decision: Decision) -> str:
    """The prefix at every candidate, and the work before us there, in the order of asking.

    >>> from policies.decision import Candidate, Term
    >>> there = Candidate("m", "http://a", (Term("affinity", -9, "128 tokens resident"), Term("wait", 0, "no queue")))
    >>> candidates_of(Decision(steps=(Call("m", "http://a"),), route="", reason="", policy_hash="", candidates=(there,)))
    'm@http://a: 128 tokens resident, no queue'
    """
    return "; ".join(
        f"{candidate.model}@{candidate.replica}: "
        + ", ".join(term.why for term in candidate.terms if term.name in SHOWN_TERMS)
        for candidate in decision.candidates
    )


def reason_of(decided: str, call: Call, failures: Failures) -> str:
    """Why `call` is asked: what the decision says of its first choice, or what became of those before this one.

    >>> gone = UpstreamError("connect_failed", "refused", sent=False)
    >>> reason_of("small: easy", Call("large", "b"), [(Call("small", "a"), gone)])
    'large: fallback, small failed (connect_failed)'
    >>> reason_of("small: easy", Call("small", "b"), [(Call("small", "a"), gone)])
    'small: another replica, small failed (connect_failed)'
    """
    if not failures:
        return decided
    first, _ = failures[0]
    what = "another replica" if call.model == first.model else "fallback"
    return f"{call.model}: {what}, " + ", ".join(f"{gone.model} failed ({word_for(why)})" for gone, why in failures)


def why_escalated(call: Call, given_up: Call, why: str) -> str:
    """
    >>> why_escalated(Call("large", "b"), Call("small", "a"), "p_correct 0.12 under 0.70: a refusal")
    'large: escalated from small (p_correct 0.12 under 0.70: a refusal)'
    """
    return f"{call.model}: escalated from {given_up.model} ({why})"


def word_for(error: UpstreamError) -> str:
    return f"status {error.status}" if error.kind == "rejected" and error.status else error.kind
