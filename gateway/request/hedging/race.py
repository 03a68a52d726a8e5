"""A race of two replicas of one model for the first content: another is asked when the first is late, the loser is closed.

Only what is elsewhere has other replicas, and an answer from there begins with its first content in hand: who has begun
speaks.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass

from backends.errors import UpstreamError
from backends.messages import ChatRequest, Usage
from backends.upstream import Answer, Prepared
from gateway.request.escalate.hold import forget
from gateway.request.failing import failed
from gateway.request.faults import outcome_of
from gateway.request.hedging.hedged import Hedged, HedgeResult
from gateway.request.hedging.lateness import Hedges
from gateway.request.job import Job
from gateway.request.owner import Attempt
from gateway.request.settle import spend_microusd
from policies.decision import Call, Hedge


@dataclass(slots=True, eq=False)
class Runner:
    """One attempt until its first content is in hand. `began_at` on the event loop's clock."""

    call: Call
    attempt: Attempt
    began_at: float
    task: "asyncio.Task[Answer]"
    error: UpstreamError | None = None

    @property
    def has_failed(self) -> bool:
        """Raises what went wrong here."""
        error = self.task.exception()
        if error is not None and not isinstance(error, UpstreamError):
            raise error
        self.error = error
        return error is not None


class Race:
    """One streamed attempt of a request, and at most one hedge of it. Whoever does not win is closed, however it ends."""

    def __init__(self, job: Job, hedges: Hedges, request: ChatRequest, prepared: Prepared) -> None:
        self._job = job
        self._hedges = hedges
        self._request = request
        self._prepared = prepared
        self._after_s = 0.0

    async def run(self, call: Call, attempt: Attempt) -> tuple[Call, Attempt, Answer]:
        """Who spoke first, with the first content in hand. Raises UpstreamError of the last one when nobody did."""
        first = self._begin(call, attempt)
        second: Runner | None = None
        winner: Runner | None = None
        try:
            second = await self._another(first)
            winner = await self._foremost([first] if second is None else [first, second])
        finally:
            if winner is not None and winner is second:
                self._job.owner.take_over(winner.attempt)
            self._note(first, second, winner)
            await self._close(first, second, winner)
        if winner is second:
            self._job.announce(winner.call, self._prepared)
        return winner.call, winner.attempt, winner.task.result()

    def _begin(self, call: Call, attempt: Attempt) -> Runner:
        now = asyncio.get_running_loop().time()
        start = attempt.start(self._request, self._job.limits())
        return Runner(call, attempt, now, asyncio.create_task(start, name="race"))

    async def _another(self, first: Runner) -> Runner | None:
        """The second one, where the first is late and one may be asked."""
        job, hedging, hedge = self._job, self._job.live.policy.resilience.hedge, self._job.judged.decision.hedge
        if hedging is None or hedge is None:
            return None
        self._hedges.allowance.came(hedging.budget)
        await asyncio.wait((first.task,), timeout=hedge.after_s)
        to = None if first.task.done() else self._free(hedge, first.call)
        if to is None or not self._hedges.allowance.take():
            return None
        job.hedges, self._after_s = None, hedge.after_s
        return self._begin(to, job.owner.hedge(to, self._prepared))

    def _free(self, hedge: Hedge, call: Call) -> Call | None:
        """Another replica of the same model that has not failed here and takes work now."""
        gone = [call for call, _ in self._job.failures]
        for other in hedge.to:
            if other.model == call.model and other != call and other not in gone:
                replica = self._job.live.replica(other)
                if replica.load().ready and not replica.trust.why_out():
                    return other
        return None

    async def _foremost(self, runners: Sequence[Runner]) -> Runner:
        """The first to speak, of two in the same instant the first that was asked. One that fails leaves the race to the other,
        unless it is the request that is at fault. Raises UpstreamError."""
        running = list(runners)
        while True:
            await asyncio.wait([runner.task for runner in running], return_when=asyncio.FIRST_COMPLETED)
            for runner in [runner for runner in running if runner.task.done()]:
                self._job.stands_in = runner.call
                if not runner.has_failed:
                    return runner
                running.remove(runner)
                await self._leaves(runner, running)

    async def _leaves(self, runner: Runner, running: Sequence[Runner]) -> None:
        assert runner.error is not None
        outcome = outcome_of(runner.error, stream=True, content_sent=False)
        if not running or outcome.failed == "refused":
            raise runner.error
        await runner.attempt.end(runner.error.kind, None)
        await failed(runner.call, runner.error, self._job)

    async def _close(self, first: Runner, second: Runner | None, winner: Runner | None) -> None:
        """Each of them, though closing another be cut short. The attempt that is left alone when there was no race is its
        owner's to end."""
        async with AsyncExitStack() as closing:
            for runner in (second, first):
                if runner is None or runner is winner:
                    continue
                if runner is second or winner is not None or runner.error is not None:
                    kind = runner.error.kind if runner.error is not None else "cancelled"
                    closing.push_async_callback(runner.attempt.end, kind, self._charged(runner))
                closing.push_async_callback(forget, runner.task)

    def _note(self, first: Runner, second: Runner | None, winner: Runner | None) -> None:
        self._learn(first, second, winner)
        if second is not None:
            self._book(first, second, winner)

    def _learn(self, first: Runner, second: Runner | None, winner: Runner | None) -> None:
        """How long the first one was waited for, to the end or until it was given up; and the second, if it spoke."""
        now = asyncio.get_running_loop().time()
        for runner in (first, second if second is winner else None):
            if runner is not None and runner.error is None and winner is not None:
                self._hedges.ttfts.saw(runner.call.model, self._prepared.tokens, now - runner.began_at)

    def _book(self, first: Runner, second: Runner, winner: Runner | None) -> None:
        loser = first if winner is second else second
        usage = self._charged(loser)
        price = self._job.live.policy.models[loser.call.model].price
        result: HedgeResult = "won" if winner is second else "failed" if second.error is not None else "cancelled"
        self._job.books.hedged = Hedged(
            second=second.call,
            after_s=self._after_s,
            result=result,
            loser=loser.call,
            usage=usage,
            microusd=spend_microusd(price, usage) if usage is not None else 0,
        )

    def _charged(self, runner: Runner) -> Usage | None:
        """What is known of one that was closed unheard: its prompt. One that failed took nothing."""
        return None if runner.error is not None else Usage(self._prepared.tokens, 0)
