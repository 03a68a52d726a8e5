"""Calls beside an answer that is held back: a second opinion on it, and a head start for whoever may take over from it."""

from collections.abc import Coroutine
from functools import partial

from backends.upstream import Answer
from gateway.request.escalate.cascade import Cascade
from gateway.request.escalate.head_start import HeadStart
from gateway.request.escalate.second import SecondOpinion
from gateway.request.job import Job
from gateway.request.owner import Attempt
from policies.decision import Hold


def second_opinion(hold: Hold, job: Job) -> SecondOpinion | None:
    """Another model, asked the same at the same time."""
    if hold.second is None:
        return None
    attempt = job.owner.aside(hold.second, job.prepared(hold.second))
    return SecondOpinion(hold.second, attempt, partial(attempt.start, job.request, job.limits()))


def head_start(hold: Hold, job: Job, cascade: Cascade) -> HeadStart | None:
    """The larger model, to be asked before the verdict where the policy says so."""
    if not cascade.starts_early():
        return None
    to = hold.to[0]

    def begin() -> tuple[Attempt, Coroutine[object, None, Answer]]:
        attempt = job.owner.aside(to, job.prepared(to))
        return attempt, attempt.start(job.request, job.limits())

    price = job.live.policy.models[to.model].price
    return HeadStart(to, begin, lambda call, usage: job.books.asked_beside(call, usage, price))
