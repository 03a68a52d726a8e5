"""Step 8: the steps of a decision, performed. The only loop with awaits and branches; judgement is `advance()`'s."""

import asyncio
import time
from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import dataclass

from backends.errors import UpstreamError
from backends.messages import ChatRequest, Event
from backends.upstream import Answer, Prepared, TimeLimits, pour
from gateway.errors import Misconfigured, RouterError
from gateway.request.beside import asked, head_start, second_opinion
from gateway.request.egress import speaks
from gateway.request.failing import failed
from gateway.request.faults import from_reject, from_upstream, missed, telling
from gateway.request.hedge import Race
from gateway.request.hold import HeldBack, forget
from gateway.request.job import Drive
from gateway.request.owner import Attempt
from gateway.request.settle import Tally
from policies.advance import GivenUp, Outcome, Progress, advance, begin
from policies.decision import Call, Hold, Reject


async def drive(job: Drive) -> None:
    """Perform the decision. Raises RouterError while nothing has left; later an error ends the stream in words."""
    progress = begin(job.judged.decision, job.live.policy.resilience)
    if progress.rejected is not None:
        raise refusal(job, progress.rejected)
    outcome = Outcome()
    try:
        while progress.step is not None:
            outcome = await perform(progress, progress.step, job)
            progress = advance(progress, outcome)
            if progress.retries and not job.may_ask_again():
                break
    finally:
        if job.head_start is not None:
            await job.head_start.aclose()
    if progress.sends_kept and progress.second_best is not None:
        await send_kept(progress.second_best, job)
    elif outcome.failed is not None:
        call, error = telling(job.failures, time.time())
        await tell(job, from_upstream(error, call.model, begun=job.out.begun))


async def tell(job: Drive, error: RouterError) -> None:
    if not job.out.begun:
        raise error
    job.books.failed(error, begun=True)
    await job.out.fail(error)


async def perform(progress: Progress, call: Call, job: Drive) -> Outcome:
    """One attempt: bytes move here and nowhere else. The replica is claimed before the first await."""
    job.stands_in = None
    try:
        given_up = await attempt_call(call, progress.holds, job)
    except UpstreamError as error:
        return await failed(job.came_to(call), error, job)
    return Outcome(sent=True, content_sent=not given_up, given_up=given_up)


@dataclass(slots=True)
class Trial:
    """One attempt: who is asked with which prompt, what it holds and said, and what keeps its answer back, if anything."""

    call: Call
    prepared: Prepared
    attempt: Attempt
    tally: Tally
    held: HeldBack | None
    begun: "asyncio.Task[Answer] | None" = None

    @property
    def given_up(self) -> GivenUp:
        return self.held.given_up if self.held is not None else ""


async def attempt_call(call: Call, hold: Hold | None, job: Drive) -> GivenUp:
    """Raises UpstreamError. Whatever happens, the attempt ends and enters the books."""
    prepared = job.prepared(call)
    begun = job.head_start.take(call) if job.head_start is not None else None
    if begun is not None:
        attempt = job.owner.adopt(begun[0])
    else:
        attempt = job.owner.attempt(call, prepared, job.judged.resident_tokens(call))
    if job.head_start is not None:
        await job.head_start.aclose()
    second, job.head_start = second_opinion(hold, job), head_start(hold, job)
    held = job.cascade.holding(call, hold, lambda: job.announce(call), second, job.head_start)
    trial = Trial(call, prepared, attempt, Tally(prepared.tokens), held, begun[1] if begun is not None else None)
    job.announce(call)
    try:
        await relay(trial, job)
    except UpstreamError as error:
        await trial.attempt.end(error.kind, trial.tally.best_usage)
        raise
    finally:
        book(trial.call, job, trial.tally)
        await forget(trial.begun)
        await trial.attempt.end("cancelled", trial.tally.best_usage)
        if second is not None:
            await second.aclose()
            job.books.asked_beside(second.call, second.usage, job.live.policy.models[second.call.model].price)
    if held is not None and held.given_up:
        await job.cascade.given_up(call, held, trial.tally.best_usage)
    else:
        await job.cascade.answered(trial.call)
    return trial.given_up


async def relay(trial: Trial, job: Drive) -> None:
    """Upstream to client, event by event, until the end or until the answer is given up. Raises UpstreamError. Upstreams keep
    the time limits that they are told, by a timer of theirs; here only a slow client has to be bounded."""
    loop, tally = asyncio.get_running_loop(), trial.tally
    limits = job.limits(loop.time())
    if job.ear is not None:
        job.ear.forget()
    await job.affinity.sent(trial.call, trial.prepared)
    request = job.cascade.asking(trial.call, trial.held)
    answer = await (trial.begun or started(trial, request, limits, job))
    passage = Passage(trial, job)
    await pass_on(answer, trial.held, passage)
    if trial.given_up:
        return
    await trial.attempt.end("", tally.usage)
    if not job.out.flush():
        await passage.room()
    await job.out.finish()
    sent = job.judged.sent_tokens(trial.call)
    await job.affinity.answered(trial.call, trial.prepared, sent, tally.usage)


async def started(trial: Trial, request: ChatRequest, limits: TimeLimits, job: Drive) -> Answer:
    """The answer to come, of another replica where that one spoke first."""
    if job.hedges is None or trial.held is not None or not request.stream:
        return await trial.attempt.start(asked(request, trial.prepared, limits, trial.attempt))
    race = Race(job, job.hedges, request, trial.prepared)
    trial.call, trial.attempt, answer = await race.run(trial.call, trial.attempt)
    return answer


class Passage:
    """From the upstream to the client. Whoever wants to know of an event sees it as it passes."""

    __slots__ = ("_attempt", "_job", "_out", "_tally")

    def __init__(self, trial: Trial, job: Drive) -> None:
        self._attempt, self._tally = trial.attempt, trial.tally
        self._job, self._out = job, job.out

    def take(self, events: Sequence[Event]) -> bool:
        for event in events:
            self.see(event)
            self._out.take(event)
        return self._out.flush()

    def see(self, event: Event) -> None:
        job, tally = self._job, self._tally
        tally.see(event)
        job.cascade.hear(event)
        if job.ear is not None:
            job.ear.hear(event)
        if not tally.spoke and speaks(event):
            tally.spoke = True
            self._attempt.spoke()

    async def room(self) -> None:
        """Raises UpstreamError when the client reads so slowly that the answer would take longer than it may."""
        try:
            async with asyncio.timeout_at(self._job.total_at):
                await self._out.room()
        except TimeoutError:
            raise missed() from None

    def show(self, event: Event) -> bool:
        """One that was seen when it came."""
        self._out.take(event)
        return self._out.flush()


async def pass_on(answer: Answer, held: HeldBack | None, passage: Passage) -> None:
    if held is None:
        await pour(answer, passage)
        return
    async with aclosing(held.through(answer, passage.see)) as events:
        async for event in events:
            if not passage.show(event):
                await passage.room()


async def send_kept(call: Call, job: Drive) -> None:
    """Nobody answered better than the whole answer that was given up."""
    job.books.turned_back(call, job.live.policy.models[call.model].price)
    job.announce(call)
    for event in job.cascade.kept:
        job.out.take(event)
    job.out.flush()
    await job.out.finish()
    job.books.spoke(job.out.begun_at or 0.0)
    await job.cascade.answered(call)


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
        lacks = [job.live.replica(Call(drop.model, drop.replica)).lacks for drop in down if drop.replica]
        if lacks and all(lacks):
            return Misconfigured(f"This gateway's configuration is incomplete: {lacks[0]}.")
    return from_reject(reject)
