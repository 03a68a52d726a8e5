"""One attempt as it is driven: what its events pass through on their way to the client, and what is left to close."""

import asyncio
from collections.abc import Callable, Sequence

import msgspec

from backends.messages import Event
from backends.upstream import Answer, Prepared
from gateway.request.egress import Egress
from gateway.request.escalate.hold import HeldBack, forget
from gateway.request.escalate.second import SecondOpinion
from gateway.request.faults import missed
from gateway.request.job import Job
from gateway.request.owner import Attempt
from gateway.request.settle import Tally
from policies.decision import Call


class Trial(msgspec.Struct, eq=False):
    """One attempt: who is asked with which prompt, what it said, and what keeps its answer back, if anything. Its events pass
    through here to the client, and who `hears` knows of each as it passes. `coming` is an answer that was asked for beside
    another attempt."""

    call: Call
    prepared: Prepared
    attempt: Attempt
    tally: Tally
    job: Job
    out: Egress
    hears: Sequence[Callable[[Event], None]] = ()
    coming: "asyncio.Task[Answer] | None" = None
    held: HeldBack | None = None
    second: SecondOpinion | None = None

    def take(self, events: Sequence[Event]) -> bool:
        tally, speaks = self.tally, False
        for event in events:
            if tally.see(event):
                speaks = True
        if speaks and not tally.spoke:
            tally.spoke = True
            self.attempt.spoke()
        for hear in self.hears:
            for event in events:
                hear(event)
        return self.out.take(events, speaks=speaks)

    def see(self, event: Event) -> None:
        """One that is kept; it is shown when it may be."""
        tally = self.tally
        if tally.see(event) and not tally.spoke:
            tally.spoke = True
            self.attempt.spoke()
        for hear in self.hears:
            hear(event)

    async def room(self) -> None:
        """Raises UpstreamError when the client reads so slowly that the answer would take longer than it may."""
        try:
            async with asyncio.timeout_at(self.job.total_at):
                await self.out.room()
        except TimeoutError:
            raise missed() from None


async def closed(trial: Trial, job: Job) -> None:
    """Whatever is left of it, and who was asked beside it."""
    try:
        if trial.coming is not None:
            await forget(trial.coming)
        if not trial.attempt.is_over:
            await trial.attempt.end("cancelled", trial.tally.best_usage)
    finally:
        if trial.second is not None:
            await heard_out(trial.second, job)


async def heard_out(second: SecondOpinion, job: Job) -> None:
    try:
        await second.aclose()
    finally:
        job.books.asked_beside(second.call, second.usage, job.live.policy.models[second.call.model].price)
