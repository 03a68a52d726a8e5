"""Step 8: the steps of a decision, performed. The only loop with awaits and branches; judgement is `advance()`'s."""

import asyncio
import time
from collections.abc import Awaitable, Sequence
from contextlib import aclosing

from backends.errors import UpstreamError
from backends.messages import Event
from backends.upstream import Answer, Prepared, pour
from gateway.errors import Misconfigured, RouterError
from gateway.request.beside import head_start, second_opinion
from gateway.request.cascade import Cascade
from gateway.request.egress import speaks
from gateway.request.failing import failed
from gateway.request.faults import from_reject, from_upstream, missed, telling
from gateway.request.hedge import Race
from gateway.request.hold import HeldBack, forget
from gateway.request.job import Drive
from gateway.request.owner import Attempt
from gateway.request.second import SecondOpinion
from gateway.request.settle import Tally
from policies.advance import Outcome, Progress, advance, begin
from policies.decision import Call, Hold, Reject

ANSWERED = Outcome(sent=True, content_sent=True)


async def drive(job: Drive) -> None:
    """Perform the decision. Raises RouterError while nothing has left; later an error ends the stream in words."""
    progress = begin(job.judged.decision, job.live.policy.resilience)
    if progress.rejected is not None:
        raise refusal(job, progress.rejected)
    outcome = ANSWERED
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
    """One attempt: bytes move here and nowhere else. The replica is claimed before the first await. Whatever happens, the
    attempt ends and enters the books."""
    job.stands_in = None
    trial, fault = begun(call, job), None
    try:
        if job.head_start is not None:
            await job.head_start.aclose()
            job.head_start = None
        if (hold := progress.holds) is not None:
            hold_back(trial, hold, job)
        job.announce(call, trial.prepared)
        await relay(trial, job)
    except UpstreamError as error:
        fault = error
        await trial.attempt.end(error.kind, trial.tally.best_usage)
    finally:
        book(trial.call, job, trial.tally)
        if trial.coming is not None:
            await forget(trial.coming)
        if not trial.attempt.is_over:
            await trial.attempt.end("cancelled", trial.tally.best_usage)
        if trial.second is not None:
            await heard_out(trial.second, job)
    if fault is not None:
        return await failed(job.came_to(call), fault, job)
    return ANSWERED if job.cascade is None else await concluded(job.cascade, call, trial)


async def concluded(cascade: Cascade, call: Call, trial: "Trial") -> Outcome:
    """What the answer says of the route's escalations, and whether it was one."""
    held = trial.held
    if held is not None and held.given_up:
        await cascade.given_up(call, held, trial.tally.best_usage)
        return Outcome(sent=True, given_up=held.given_up)
    await cascade.answered(trial.call)
    return ANSWERED


class Trial:
    """One attempt: who is asked with which prompt, what it said, and what keeps its answer back, if anything. Its events pass
    through here to the client, and whoever wants to know of one sees it as it passes. `coming` is an answer that was asked for
    beside another attempt."""

    __slots__ = ("_hears", "_job", "_out", "attempt", "call", "coming", "held", "prepared", "second", "tally")

    def __init__(
        self, call: Call, prepared: Prepared, attempt: Attempt, coming: "asyncio.Task[Answer] | None", job: Drive
    ) -> None:
        self.call, self.prepared, self.attempt, self.coming = call, prepared, attempt, coming
        self.tally = Tally(prepared.tokens)
        self.held: HeldBack | None = None
        self.second: SecondOpinion | None = None
        self._job, self._out = job, job.out
        self._hears = () if job.ear is None and job.cascade is None else job.listeners()

    def take(self, events: Sequence[Event]) -> bool:
        out = self._out
        for event in events:
            self.see(event)
            out.take(event)
        return out.flush()

    def see(self, event: Event) -> None:
        tally = self.tally
        tally.see(event)
        for hear in self._hears:
            hear(event)
        if not tally.spoke and speaks(event):
            tally.spoke = True
            self.attempt.spoke()

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


def begun(call: Call, job: Drive) -> Trial:
    """The attempt at `call`: the one that got a head start, else a new one."""
    prepared = job.prepared(call)
    ahead = job.head_start.take(call) if job.head_start is not None else None
    if ahead is not None:
        return Trial(call, prepared, job.owner.adopt(ahead[0]), ahead[1], job)
    attempt = job.owner.attempt(call, prepared, job.judged.resident_tokens(call))
    return Trial(call, prepared, attempt, None, job)


def hold_back(trial: Trial, hold: Hold, job: Drive) -> None:
    """The answer is kept until it may leave; whoever is asked beside it is asked at once, or gets a head start."""
    assert job.cascade is not None
    call = trial.call
    trial.second, job.head_start = second_opinion(hold, job), head_start(hold, job, job.cascade)
    trial.held = job.cascade.holding(
        call, hold, lambda: job.announce(call, trial.prepared), trial.second, job.head_start
    )


async def heard_out(second: SecondOpinion, job: Drive) -> None:
    await second.aclose()
    job.books.asked_beside(second.call, second.usage, job.live.policy.models[second.call.model].price)


async def relay(trial: Trial, job: Drive) -> None:
    """Upstream to client, event by event, until the end or until the answer is given up. Raises UpstreamError. Upstreams keep
    the time limits that they are told, by a timer of theirs; here only a slow client has to be bounded."""
    if job.ear is not None:
        job.ear.forget()
    job.affinity.sent(trial.call, trial.prepared)
    answer = await (trial.coming or asking(trial, job))
    if trial.held is None:
        await pour(answer, trial)
    else:
        await keep(answer, trial.held, trial)
        if trial.held.given_up:
            return
    await trial.attempt.end("", trial.tally.usage)
    if not job.out.flush():
        await trial.room()
    await job.out.finish()
    sent = job.judged.sent_tokens(trial.call)
    await job.affinity.answered(trial.call, trial.prepared, sent, trial.tally.usage)


def asking(trial: Trial, job: Drive) -> Awaitable[Answer]:
    """The answer to come, of another replica where that one speaks first."""
    request = job.request
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
            if not trial.show(event):
                await trial.room()


async def send_kept(call: Call, job: Drive) -> None:
    """Nobody answered better than the whole answer that was given up."""
    assert job.cascade is not None
    job.books.turned_back(call, job.live.policy.models[call.model].price)
    job.announce(call, job.prepared(call))
    for event in job.cascade.kept:
        job.out.take(event)
    job.out.flush()
    await job.out.finish()
    job.books.spoke(job.out.begun_at or 0.0)
    await job.cascade.answered(call)


def book(call: Call, job: Drive, tally: Tally) -> None:
    """Every attempt enters the books; the last one is the one that counts as the answer."""
    books, usage = job.books, tally.best_usage
    books.attempts = job.owner.attempts
    if usage is not None:
        books.usage, books.price = usage, job.live.policy.models[call.model].price
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
