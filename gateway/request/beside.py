"""Calls beside an answer that is held back: a second opinion on it, and a head start for whoever may take over from it."""

import asyncio

from backends.messages import ChatRequest
from backends.upstream import Prepared, TimeLimits, UpstreamCall
from gateway.request.head_start import HeadStart
from gateway.request.job import Drive
from gateway.request.owner import Attempt
from gateway.request.second import SecondOpinion
from policies.decision import Hold


def second_opinion(hold: Hold | None, job: Drive) -> SecondOpinion | None:
    """Another model, asked the same at the same time."""
    if hold is None or hold.second is None:
        return None
    prepared, limits = job.prepared(hold.second), job.limits(asyncio.get_running_loop().time())
    attempt = job.owner.aside(hold.second, prepared)
    return SecondOpinion(hold.second, attempt, asked(job.request, prepared, limits, attempt))


def head_start(hold: Hold | None, job: Drive) -> HeadStart | None:
    """The larger model, to be asked before the verdict where the policy says so."""
    if hold is None or not job.cascade.starts_early():
        return None
    to = hold.to[0]

    def begin() -> tuple[Attempt, UpstreamCall]:
        prepared = job.prepared(to)
        attempt = job.owner.aside(to, prepared)
        limits = job.limits(asyncio.get_running_loop().time())
        return attempt, asked(job.request, prepared, limits, attempt)

    price = job.live.policy.models[to.model].price
    return HeadStart(to, begin, lambda call, usage: job.books.asked_beside(call, usage, price))


def asked(request: ChatRequest, prepared: Prepared, limits: TimeLimits, attempt: Attempt) -> UpstreamCall:
    return UpstreamCall(
        request=request,
        prepared=prepared,
        limits=limits,
        headers=attempt.trace_headers,
        resident_tokens=attempt.resident_tokens,
    )
