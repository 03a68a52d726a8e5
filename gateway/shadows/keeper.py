"""Shadows beside the requests: who is over is handed in and forgotten at once; everything else happens later, and apart."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Protocol

from backends.messages import ChatRequest
from gateway.decisions.record import ShadowRecord
from gateway.live.in_force import Live
from gateway.request.judge import Judged
from gateway.request.reading.carried import SHADOW_HEADER
from gateway.request.settlement import Settlement
from gateway.shadows.capture import Capture
from gateway.shadows.chapter import Chapter, print_of
from gateway.shadows.compare import Comparer
from gateway.shadows.errand import Drawn, errand_of
from gateway.shadows.line import Ended, Line
from gateway.shadows.reach import Reach
from gateway.shadows.rollouts import Rollouts
from gateway.shadows.shelf import Shelf
from gateway.shadows.till import Till
from gateway.shadows.whom import OneModel
from gateway.telemetry.observe import Observation
from policies.experiments.standing import print_of as print_of_rollout
from policies.policy import Policy
from policies.shadows.plan import Shadow, of_rollout
from policies.shadows.sample import is_of, picks

log = logging.getLogger("turnout.shadows")

LONGEST_REQUEST = 1 << 20
"""Bytes of a body that may wait to be asked again; pictures of some size are beyond it."""

KEEP_S = 5.0
"""Between two writes to disk: what the end of the process by SIGKILL loses of evidence at most; of money nothing."""


PATIENCE_S = 0.25
"""How long requests inside go before what waits here."""

GLANCE_S = 0.005


class Asking(Protocol):
    """Who asks: a request at the door."""

    @property
    def headers(self) -> Mapping[str, str]: ...

    @property
    def observation(self) -> Observation: ...


class Shadows:
    """`live` is what is in force. `shelf` None: nothing outlives the process. `keeps` takes records for the log of decisions,
    `inside` tells how many requests are being answered, `ended` hears what became of each drawn request. `rollouts` asks by
    their change, before anybody has it."""

    def __init__(  # noqa: PLR0917  what shadows work with
        self,
        live: Callable[[], Live],
        reach: Reach,
        till: Till,
        comparer: Comparer,
        ended: Ended,
        keeps: Callable[[ShadowRecord], object],
        rollouts: Rollouts,
        shelf: Shelf | None = None,
        inside: Callable[[], int] = lambda: 0,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._live = live
        self._inside = inside
        self._reach, self._till, self._comparer, self._ended = reach, till, comparer, ended
        self._keeps, self._rollouts, self._shelf, self._now = keeps, rollouts, shelf, now
        self._lines: dict[str, Line] = {}
        self._woken = asyncio.Event()

    def policy_loaded(self, live: Live) -> None:
        """Its shadows are those in force. What is known of them stays known; what waits for others is dropped."""
        policy = live.policy
        before, self._lines = self._lines, {}
        for plan, mark in marked(policy):
            line = before.get(plan.name)
            if line is None or line.chapter.print != mark:
                line = self._line(plan, mark)
            line.plan = plan
            self._lines[plan.name] = line

    def drawn(self, live: Live, visit: Asking, request: ChatRequest, judged: Judged, salt: bytes) -> Drawn | None:
        """What is to be remembered of a request that shadows have drawn; None for all others. Costs nothing without shadows."""
        if not live.policy.shadows and not self._rollouts.asked():
            return None
        plans = (*live.policy.shadows, *self._rollouts.plans(live.policy))
        if not plans or request.asks == "embeddings" or SHADOW_HEADER in visit.headers:
            return None
        found = picks(plans, judged.facts, judged.decision, visit.observation.request_id)
        return Drawn(found, request, salt, judged, visit.observation, Capture()) if found else None

    def settled(self, drawn: Drawn, settlement: Settlement) -> None:
        """A drawn request is over, its answer has left. Returns at once."""
        for picked in drawn.picks:
            line = self._lines.get(picked.shadow.name)
            if line is None:
                continue
            errand = errand_of(picked, drawn, settlement)
            if errand is None:
                line.count("no_answer")
            elif is_of(picked.shadow, errand.route, errand.answered_by.model):
                if is_too_long(drawn):
                    line.count("too_long")
                else:
                    line.put(errand)
                    self._woken.set()

    @property
    def chapters(self) -> Mapping[str, Chapter]:
        """As they are now."""
        return {name: line.told() for name, line in self._lines.items()}

    @property
    def busy(self) -> int:
        """Errands that wait or are under way."""
        return sum(line.waiting + line.in_flight for line in self._lines.values())

    async def follow(self) -> None:
        """For as long as the process lives."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_now_and_then(), name="keep-shadows")
            while True:
                await self._woken.wait()
                self._woken.clear()
                await self._let_requests_pass()
                for line in list(self._lines.values()):
                    while (errand := line.next()) is not None:
                        tasks.create_task(line.serve(self._live(), errand), name=f"shadow-{line.plan.name}")

    async def _let_requests_pass(self) -> None:
        """Work for comparison begins in the gaps between requests, where there are any."""
        loop = asyncio.get_running_loop()
        until = loop.time() + PATIENCE_S
        while self._inside() and loop.time() < until:  # noqa: ASYNC110  nobody announces a gap
            await asyncio.sleep(GLANCE_S)

    async def aclose(self) -> None:
        """What is known is kept. Nothing is under way any more."""
        await self._reach.aclose()
        await self._comparer.aclose()
        await self._till.aclose()
        await self._keep()
        if self._shelf is not None:
            self._shelf.release()

    async def _keep_now_and_then(self) -> None:
        while True:
            await asyncio.sleep(KEEP_S)
            await self._keep()

    async def _keep(self) -> None:
        if self._shelf is None:
            return
        for chapter in self.chapters.values():
            try:
                await asyncio.to_thread(self._shelf.write, chapter)
            except OSError as error:
                log.error("shadows are not kept: %s", error)

    def _line(self, plan: Shadow, mark: str) -> Line:
        known = self._shelf.read(plan.name) if self._shelf is not None else None
        if known is None or known.print != mark:
            to, judge = plan.to or f"the change of {plan.rollout}", plan.judge.model if plan.judge is not None else ""
            known = Chapter(name=plan.name, to=to, print=mark, begun_at=self._now(), judge=judge)
        whom = self._rollouts.whom(plan.rollout) if plan.rollout else OneModel(plan.to, self._reach)
        ends = (self._ended, self._keeps, self._rollouts.tells, self._woken.set, self._now)
        return Line(plan, known, whom, self._reach, self._till, self._comparer, *ends)


def marked(policy: Policy) -> Iterator[tuple[Shadow, str]]:
    """Shadows that may draw requests of this policy, each with what makes its evidence comparable."""
    for plan in policy.shadows:
        yield plan, print_of(plan, policy.models[plan.to].serves)
    for experiment in policy.experiments:
        if (plan_of := of_rollout(experiment)) is not None:
            yield plan_of, print_of_rollout(experiment)


def is_too_long(drawn: Drawn) -> bool:
    request = drawn.request
    body = request.native.body if request.native is not None else request.raw
    return len(body) > LONGEST_REQUEST or not drawn.capture.is_all
