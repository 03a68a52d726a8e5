"""One shadow: a bounded queue, so many calls at once, a circuit of its own, and what it has shown."""

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping

import msgspec

from gateway.decisions.record import ShadowRecord
from gateway.experiments.bench import Pair
from gateway.live.in_force import Live
from gateway.request.escalate.listen import wanted_of
from gateway.shadows.ask import Told
from gateway.shadows.calls import Calls
from gateway.shadows.capture import said_in
from gateway.shadows.chapter import Chapter, Result, counted
from gateway.shadows.compare import Comparer, NotCompared
from gateway.shadows.errand import Errand
from gateway.shadows.judging import court_of
from gateway.shadows.pairs import change_of, control_of
from gateway.shadows.reach import Reach
from gateway.shadows.tell import record_of
from gateway.shadows.till import Till
from gateway.shadows.whom import Asked, Whom
from policies.escalate.said import Said
from policies.shadows.closing import comes_to
from policies.shadows.evidence import learnt
from policies.shadows.judged import IN_PERCENT
from policies.shadows.judged import counted as with_judged
from policies.shadows.likeness import in_percent
from policies.shadows.plan import Shadow

log = logging.getLogger("turnout.shadows")


Ended = Callable[[str, Result], object]
"""Told of a shadow by name, and of what became of a request that it drew."""


class Line:
    """`plan` may be replaced while it works: what waits keeps the one that it was drawn by. `whom` says who is asked. `changed`
    is called when there is room for another call. `keeps` takes the record of what was compared, `pairs` what the pair of a
    rollout came to."""

    def __init__(  # noqa: PLR0917  what one shadow works with
        self,
        plan: Shadow,
        chapter: Chapter,
        whom: Whom,
        reach: Reach,
        till: Till,
        comparer: Comparer,
        ended: Ended,
        keeps: Callable[[ShadowRecord], object],
        pairs: Callable[[Pair], object],
        changed: Callable[[], object],
        now: Callable[[], float] = time.time,
    ) -> None:
        self.plan = plan
        self.chapter = chapter
        self.in_flight = 0
        self._till, self._comparer, self._ended = till, comparer, ended
        self._whom, self._pairs = whom, pairs
        self._keeps, self._changed, self._now = keeps, changed, now
        self._calls = Calls(reach, till, self._spent)
        self._court = court_of(plan, reach, self._calls)
        self._waiting: deque[Errand] = deque()

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    def put(self, errand: Errand) -> None:
        """Returns at once; what there is no room for is dropped and counted."""
        if len(self._waiting) >= self.plan.limits.queue:
            self.count("no_room")
        else:
            self._waiting.append(errand)

    def count(self, result: Result) -> None:
        self.chapter = counted(self.chapter, result)
        self._ended(self.plan.name, result)

    def told(self) -> Chapter:
        """As it is to be kept."""
        limits = self.plan.limits
        return msgspec.structs.replace(
            self.chapter,
            at=self._now(),
            taken_microusd=self._till.taken(self.plan.name),
            cap_microusd=limits.microusd_per_day,
        )

    def next(self) -> Errand | None:
        """What is to be served, if there is room."""
        if not self._waiting or self.in_flight >= self.plan.limits.in_flight:
            return None
        self.in_flight += 1
        return self._waiting.popleft()

    async def serve(self, live: Live, errand: Errand) -> None:
        """Whatever goes wrong here is counted, and nobody else's."""
        try:
            self.count(await self._served(live, errand))
        except Exception:
            log.exception("shadow %s", self.plan.name)
            self.count("not_compared")
        finally:
            self.in_flight -= 1
            self._changed()

    async def _served(self, live: Live, errand: Errand) -> Result:
        asked = await self._whom.choose(live, errand)
        if isinstance(asked, str):
            if asked == "refused":
                self._paired(errand, Told(failed=asked, sent=False), None)
            return asked
        told = await self._calls.ask(self.plan, asked, errand, errand.question)
        if isinstance(told, str):
            return told
        self._whom.learn(asked.call, told)
        self._paired(errand, told, asked)
        if told.said is None:
            self._keeps(record_of(errand, asked.call.model, told, self._now(), differs={}, twice=None, floor={}))
            return "failed"
        if not errand.is_answered:
            return "no_answer"
        again = None
        if errand.picked.twice:
            again = await self._calls.ask(self.plan, Asked(live, errand.answered_by), errand, errand.question)
        return await self._compared(live, errand, asked.call.model, told, again if isinstance(again, Told) else None)

    def _spent(self, microusd: int) -> None:
        self.chapter = msgspec.structs.replace(self.chapter, microusd=self.chapter.microusd + microusd)

    def _paired(self, errand: Errand, told: Told, asked: Asked | None) -> None:
        plan = errand.picked.shadow
        if plan.rollout:
            self._pairs(Pair(plan.rollout, plan.round, change_of(told, asked), control_of(errand)))

    async def _compared(self, live: Live, errand: Errand, model: str, told: Told, twice: Told | None) -> Result:
        primary = await said_in(errand.events)
        try:
            differs = await self._apart(errand, primary, told)
            floor = await self._apart(errand, primary, twice) if twice is not None else {}
        except NotCompared as error:
            log.warning("shadow %s: %s", self.plan.name, error)
            return "not_compared"
        self._took(errand, told, differs, floor)
        judged = await self._judged(live, errand, primary, told)
        seen = {"differs": differs | judged, "floor": floor}
        ends = "" if told.said is None else comes_to(primary, told.said, wanted_of(errand.request))
        self._keeps(record_of(errand, model, told, self._now(), twice=twice, comes_to=ends, **seen))
        return "compared"

    async def _judged(self, live: Live, errand: Errand, primary: Said, told: Told) -> dict[str, int]:
        """How much better a judge finds the primary's answer, in percent; nothing where none was asked, or does not know."""
        if self._court is None or told.said is None or not self._court.hears(errand):
            return {}
        found = await self._court.judge(live, errand, primary, told.said)
        self.chapter = msgspec.structs.replace(self.chapter, judged=with_judged(self.chapter.judged, found))
        return {} if found is None else {"judge": IN_PERCENT[found]}

    async def _apart(self, errand: Errand, primary: Said, told: Told) -> dict[str, int]:
        """By rung, in percent; nothing where there is no answer."""
        if told.said is None:
            return {}
        wanted, rungs = wanted_of(errand.request), errand.picked.shadow.compare
        return in_percent(await self._comparer.compare(primary, told.said, wanted, rungs))

    def _took(self, errand: Errand, told: Told, differs: Mapping[str, int], floor: Mapping[str, int]) -> None:
        before = self.chapter
        self.chapter = msgspec.structs.replace(
            before,
            evidence=learnt(before.evidence, differs, floor),
            twice=before.twice + bool(floor),
            primary_microusd=before.primary_microusd + errand.settlement.microusd,
            shadow_microusd=before.shadow_microusd + told.microusd,
            primary_ms=before.primary_ms + errand.settlement.duration_ms,
            shadow_ms=before.shadow_ms + told.took_ms,
        )
