"""Step 8: the steps of a decision, performed. The only loop with awaits and branches; judgement is `advance()`'s."""

import time
from collections.abc import Awaitable
from contextlib import aclosing
from functools import partial

from backends.errors import UpstreamError
from backends.upstream import Answer, pour
from gateway.errors import Misconfigured, RouterError
from gateway.request.egress import speaks
from gateway.request.escalate.beside import head_start, second_opinion
from gateway.request.escalate.cascade import Cascade
from gateway.request.escalate.hold import HeldBack
from gateway.request.failing import failed
from gateway.request.faults import from_reject, from_upstream, telling
from gateway.request.hedging.race import Race
from gateway.request.job import Job
from gateway.request.settle import Tally
from gateway.request.told import told_early
from gateway.request.trial import Trial, closed
from policies.advance import Outcome, Progress, advance, begin
from policies.decision import Call, Reject

ANSWERED = Outcome(sent=True, content_sent=True)


async def drive(job: Job) -> None:
    """Perform the decision. Raises RouterError while nothing has left; later an error ends the stream in words."""
    progress = begin(job.judged.decision, job.live.policy.resilience)
    if progress.rejected is not None:
        raise refusal(job, progress.rejected)
    outcome = ANSWERED
    try:
        while progress.step is not None:
            outcome = await perform(progress, progress.step, job)
            progress = advance(progress, outcome)
            if outcome.failed is not None and progress.retries and not job.may_ask_again():
                break
    finally:
        if job.head_start is not None:
            await job.head_start.aclose()
    if progress.sends_kept and progress.second_best is not None:
        await send_kept(progress.second_best, job)
    elif outcome.failed is not None:
        call, error = telling(job.failures, time.time())
        await tell(job, from_upstream(error, call.model, begun=job.out.is_open))


async def tell(job: Job, error: RouterError) -> None:
    if not job.out.is_open:
        raise error
    job.books.failed(error, begun=True)
    await job.out.fail(error)


async def perform(progress: Progress, call: Call, job: Job) -> Outcome:
    """One attempt, upstream to client, event by event, until the end or until the answer is given up: bytes move here and
    nowhere else. The replica is claimed before the first await. Whatever happens, the attempt ends and enters the books."""
    job.stands_in = None
    trial, fault = begun(call, job), None
    try:
        if job.cascade is not None:
            await held_back(trial, progress, job, job.cascade)
        job.announce(call, trial.prepared)
        job.affinity.sent(trial.attempt.replica, trial.prepared)
        if job.cascade is None and job.hedges is None:
            trial.attempt.answer = answer = await trial.attempt.ask(job.request, job.limits())
        else:
            answer = await asking(trial, job)
        if trial.held is None:
            await pour(answer, trial)
        else:
            await keep(answer, trial.held, trial)
        if trial.held is None or not trial.held.given_up:
            await ended(trial, job)
    except UpstreamError as error:
        fault = error
        await trial.attempt.end(error.kind, trial.tally.best_usage)
    finally:
        price = job.live.policy.models[trial.call.model].price
        job.books.tried(trial.call, trial.tally, price, job.owner.attempts, job.out.begun_at)
        if job.cascade is not None or not trial.attempt.is_over:
            await closed(trial, job)
    if fault is not None:
        return await failed(job.came_to(call), fault, job)
    return ANSWERED if job.cascade is None else await concluded(job.cascade, call, trial)


async def ended(trial: Trial, job: Job) -> None:
    """The answer is whole. Upstreams keep the time limits that they are told, by a timer of theirs; here only a slow client
    has to be bounded."""
    usage, attempt = trial.tally.usage, trial.attempt
    await attempt.end("", usage)
    if not job.out.has_room:
        await trial.room()
    job.out.finish()
    sent_before = job.judged.sent_tokens(trial.call)
    learning = job.affinity.answered(attempt.replica, trial.prepared, sent_before, usage)
    if learning is not None:
        await learning


async def concluded(cascade: Cascade, call: Call, trial: Trial) -> Outcome:
    """What the answer says of the route's escalations, and whether it was one."""
    held = trial.held
    if held is not None and held.given_up:
        await cascade.given_up(call, held, trial.tally.best_usage)
        return Outcome(sent=True, given_up=held.given_up)
    await cascade.answered(trial.call)
    return ANSWERED


def begun(call: Call, job: Job) -> Trial:
    """The attempt at `call`: the one that got a head start, else a new one."""
    prepared = job.judged.prepared.get(call.model) or job.prepared(call)
    ahead = job.head_start.take(call) if job.head_start is not None else None
    coming = None
    if ahead is not None:
        attempt, coming = job.owner.adopt(ahead[0]), ahead[1]
    else:
        attempt = job.owner.attempt(call, prepared, job.judged.resident_tokens(call))
    hears = () if job.ear is None and job.cascade is None else job.listeners()
    return Trial(call, prepared, attempt, Tally(prepared.tokens), job, job.out, hears, coming)


async def held_back(trial: Trial, progress: Progress, job: Job, cascade: Cascade) -> None:
    """On a route that escalates: the answer is kept until it may leave, if the step says so; whoever is asked beside it is
    asked at once, or gets a head start."""
    if job.head_start is not None:
        await job.head_start.aclose()
        job.head_start = None
    hold, call = progress.holds, trial.call
    if hold is not None:
        trial.second, job.head_start = second_opinion(hold, job), head_start(hold, job, cascade)
        announce = partial(job.announce, call, trial.prepared)
        trial.held = cascade.holding(call, hold, announce, trial.second, job.head_start)
        job.out.hold(told_early(job.books))


def asking(trial: Trial, job: Job) -> Awaitable[Answer]:
    """The answer to come: of who was asked before, as a cascade asks, or of another replica where that one speaks first."""
    request = job.request
    if trial.coming is not None:
        return trial.coming
    if trial.held is not None and job.cascade is not None:
        request = job.cascade.asking(trial.call)
    elif job.hedges is not None and request.stream:
        return raced(trial, Race(job, job.hedges, request, trial.prepared))
    return trial.attempt.start(request, job.limits())


async def raced(trial: Trial, race: Race) -> Answer:
    trial.call, trial.attempt, answer = await race.run(trial.call, trial.attempt)
    return answer


async def keep(answer: Answer, held: HeldBack, trial: Trial) -> None:
    async with aclosing(held.through(answer, trial.see)) as events:
        async for event in events:
            if not trial.out.take((event,), speaks=speaks(event)):
                await trial.room()


async def send_kept(call: Call, job: Job) -> None:
    """Nobody answered better than the whole answer that was given up."""
    assert job.cascade is not None
    job.books.turned_back(call, job.live.policy.models[call.model].price)
    job.announce(call, job.prepared(call))
    if not job.out.take(job.cascade.kept, speaks=any(map(speaks, job.cascade.kept))):
        await job.out.room()
    job.out.finish()
    job.books.spoke(job.out.begun_at or 0.0)
    await job.cascade.answered(call)


def refusal(job: Job, reject: Reject) -> RouterError:
    """A reject in the client's words; ours where every replica is down for want of configuration."""
    if reject.code == "unavailable":
        down = [drop for drop in job.judged.decision.dropped if drop.filter == "healthy"]
        lacks = [job.live.replica(Call(drop.model, drop.replica)).lacks for drop in down if drop.replica]
        if lacks and all(lacks):
            return Misconfigured(f"This gateway's configuration is incomplete: {lacks[0]}.")
    return from_reject(reject)
