"""Step 8: the steps of a decision, performed. The only loop with awaits and branches; judgement is `advance()`'s."""

import asyncio
import logging
from dataclasses import dataclass, field

from backends.errors import UpstreamError
from backends.messages import ChatRequest
from backends.upstream import Prepared, TimeLimits, UpstreamCall
from gateway.errors import Misconfigured, RouterError
from gateway.live.in_force import Live, opened
from gateway.request.affinity import Affinity
from gateway.request.egress import Egress, speaks
from gateway.request.faults import from_reject, from_upstream, outcome_of
from gateway.request.judge import Judged, reads_prompt
from gateway.request.owner import Attempt, Owner
from gateway.request.settle import Books, Tally
from gateway.request.told import reason_of, told
from policies.advance import Outcome, advance, begin
from policies.decision import Call, Reject

log = logging.getLogger("turnout.upstream")

IN_REQUEST_LOG = frozenset(("rejected", "too_long", "unsupported"))
"""Failures whose words may quote the prompt; the request's own line has their code."""


@dataclass(slots=True)
class Drive:
    """One request under way: what was decided, who holds what, where the answer goes, and the books.

    `total_at`, on the event loop's clock, bounds all attempts together.
    """

    live: Live
    request: ChatRequest
    salt: bytes
    judged: Judged
    affinity: Affinity
    owner: Owner
    out: Egress
    books: Books
    total_at: float
    failures: list[tuple[Call, UpstreamError]] = field(default_factory=list)

    def prepared(self, call: Call) -> Prepared:
        """The prompt as this model reads it; of one that nobody reads but the replica itself, the length."""
        known = self.judged.prepared.get(call.model)
        if known is None:
            replica = self.live.replica(call)
            known = (
                opened(replica).prepare(self.request, self.salt)
                if reads_prompt(self.live.replicas[call.model])
                else Prepared(tokens=self.judged.facts.prompt_tokens, exact=False)
            )
            self.judged.prepared[call.model] = known
        return known

    def limits(self, now: float) -> TimeLimits:
        set_ = self.live.policy.resilience
        left_s = max(0.001, self.total_at - now)
        first_s = min(set_.first_content_s, left_s)
        return TimeLimits(connect_s=set_.connect_s, first_content_s=first_s, gap_s=set_.gap_s, total_s=left_s)


async def drive(job: Drive) -> None:
    """Perform the decision. Raises RouterError while nothing has left; later an error ends the stream in words."""
    progress = begin(job.judged.decision, job.live.policy.resilience)
    if progress.rejected is not None:
        raise refusal(job, progress.rejected)
    outcome = Outcome()
    while progress.step is not None:
        outcome = await perform(progress.step, job)
        progress = advance(progress, outcome)
    if outcome.failed is not None:
        call, error = job.failures[-1]
        await tell(job, from_upstream(error, call.model, begun=job.out.begun))


async def tell(job: Drive, error: RouterError) -> None:
    if not job.out.begun:
        raise error
    job.books.failed(error, begun=True)
    await job.out.fail(error)


async def perform(call: Call, job: Drive) -> Outcome:
    """One attempt: bytes move here and nowhere else. The replica is claimed before the first await."""
    try:
        await attempt_call(call, job)
    except UpstreamError as error:
        if error.kind not in IN_REQUEST_LOG:
            log.warning("%s at %s: %s: %s", call.model, call.replica, error.kind, error.message)
        if error.kind == "connect_failed":
            await job.affinity.unreachable(call)
        job.failures.append((call, error))
        return outcome_of(error, stream=job.request.stream, content_sent=job.out.begun)
    return Outcome(sent=True, content_sent=True)


async def attempt_call(call: Call, job: Drive) -> None:
    """Raises UpstreamError. Whatever happens, the attempt ends and enters the books."""
    prepared = job.prepared(call)
    attempt = job.owner.attempt(call, prepared.tokens, job.judged.resident_tokens(call))
    tally = Tally(prepared.tokens)
    job.books.asked = call
    job.books.reason = reason_of(job.judged.decision.reason, call, job.failures)
    job.out.attempt(call, told(job.books))
    try:
        await relay(call, job, attempt, prepared, tally)
    except UpstreamError as error:
        await attempt.end(error.kind, tally.best_usage)
        raise
    finally:
        book(call, job, tally)
        await attempt.end("cancelled", tally.best_usage)


async def relay(call: Call, job: Drive, attempt: Attempt, prepared: Prepared, tally: Tally) -> None:
    """Upstream to client, event by event. Raises UpstreamError, for a missed time limit too."""
    loop, out = asyncio.get_running_loop(), job.out
    limits = job.limits(loop.time())
    first_at = loop.time() + limits.first_content_s if job.request.stream else job.total_at
    try:
        async with asyncio.timeout_at(first_at) as deadline:
            await job.affinity.sent(call, prepared)
            answer = await attempt.start(
                UpstreamCall(request=job.request, prepared=prepared, limits=limits, headers=attempt.trace_headers)
            )
            async for event in answer:
                tally.see(event)
                if not tally.spoke and speaks(event):
                    tally.spoke = True
                    attempt.spoke()
                    deadline.reschedule(job.total_at)
                await out.take(event)
            await attempt.end("", tally.usage)
            await out.finish()
    except TimeoutError:
        raise missed(loop.time() >= job.total_at, limits) from None
    await job.affinity.answered(call, prepared)


def missed(total: bool, limits: TimeLimits) -> UpstreamError:
    if total:
        return UpstreamError("total_timeout", "The answer took longer than the policy's total limit.", sent=True)
    message = f"No content came within {limits.first_content_s:g} s."
    return UpstreamError("first_content_timeout", message, sent=True)


def book(call: Call, job: Drive, tally: Tally) -> None:
    """Every attempt enters the books; the last one is the one that counts as the answer."""
    books = job.books
    books.attempts = job.owner.attempts
    if tally.best_usage is not None:
        books.usage, books.price = tally.best_usage, job.live.policy.models[call.model].price
    books.answered_by, books.end = call, tally.reason
    if job.out.begun_at is not None:
        books.spoke(job.out.begun_at)


def refusal(job: Drive, reject: Reject) -> RouterError:
    """A reject in the client's words; ours where every replica is down for want of configuration."""
    if reject.code == "unavailable":
        down = [drop for drop in job.judged.decision.dropped if drop.filter == "healthy"]
        lacks = [job.live.replica(Call(drop.model, drop.replica)).lacks for drop in down]
        if lacks and all(lacks):
            return Misconfigured(f"This gateway's configuration is incomplete: {lacks[0]}.")
    return from_reject(reject)
