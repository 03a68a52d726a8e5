"""Experiments beside the requests: who is over is handed in and forgotten at once; evidence, disk and store come after.

A guardrail that breaks ends its experiment as soon as the request that broke it has been taken in: the next decision knows.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence

from gateway.decisions.record import SignalRecord
from gateway.experiments.bench import Bench, Event, Over, Pair, Shadowed, Told
from gateway.experiments.chapter import Chapter, carried
from gateway.experiments.exchange import Exchange, Shared
from gateway.experiments.exposures import exposures_of, without_unit
from gateway.experiments.outcomes import outcomes
from gateway.experiments.shelf import Order, Shelf
from gateway.experiments.telling import changed
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from policies.experiments.enrol import Ramps
from policies.experiments.evidence import Value
from policies.experiments.plan import Experiment
from policies.experiments.standing import Standing
from policies.policy import Policy

log = logging.getLogger("turnout.experiments")

QUEUE = 65_536
"""Requests that may wait to be taken in."""

LOOK_S = 1.0
"""Between two whole verdicts, two words to other gateways, two looks for orders."""

PAUSE_S = 0.005
"""Between two batches: what comes meanwhile is taken in together."""

KEEP_S = 5.0
"""Between two writes to disk: what the end of the process by SIGKILL loses at most of the evidence; how an experiment stands is
written when it changes."""

OBEY_S = 5.0
"""Within which an order is obeyed, or never."""


class Keeper:
    """`shelf` None: nothing outlives the process. `shared` None: this gateway is alone. `hears_again`: requests that are asked
    again are told of. `most` may wait to be taken in. `now` in seconds since the epoch."""

    def __init__(
        self,
        now: Callable[[], float],
        *,
        shelf: Shelf | None = None,
        shared: Shared | None = None,
        hears_again: bool = False,
        most: int = QUEUE,
    ) -> None:
        self._now = now
        self._shelf = shelf
        self._exchange = Exchange(shared)
        self._hears_again = hears_again
        self._most = most
        self._bench = Bench()
        self._waiting: deque[Event] = deque()
        self._orders: deque[tuple[str, Order, asyncio.Future[Chapter | None]]] = deque()
        self._woken = asyncio.Event()
        self._experiments: tuple[Experiment, ...] = ()
        self._loads = False
        self._kept_at = self._looked_at = 0.0
        self._standings: Mapping[str, Standing] = {}
        self.forced: Mapping[str, str] = {}
        self.ramps: Ramps = {}
        self.shadowed: Mapping[str, Shadowed] = {}
        self.dropped = 0

    def policy_loaded(self, policy: Policy) -> None:
        """Its experiments are those in force. What is known of them stays known."""
        self._experiments, self._loads = policy.experiments, True
        before = self._before()
        self.forced = {**{name: one.forced for name, one in before.items() if one.forced}, **self.forced}
        ramps = {name: one.ramp for name, one in before.items() if one.ramp}
        self.ramps = {**self._exchange.begun(ramps, self._experiments), **self.ramps}
        self._woken.set()

    async def obey(self, name: str, order: Order) -> Chapter | None:
        """An order of a person, and how the experiment stands then; None where there is none. Raises TimeoutError."""
        answer: asyncio.Future[Chapter | None] = asyncio.get_running_loop().create_future()
        self._orders.append((name, order, answer))
        self._woken.set()
        async with asyncio.timeout(OBEY_S):
            return await answer

    def settled(self, experiments: Sequence[Experiment], judged: Judged, settlement: Settlement) -> None:
        """A request that was decided by a policy with these experiments is over. Returns at once."""
        if len(self._waiting) >= self._most:
            self.dropped += 1
            return
        self._waiting.append(self._over(experiments, judged, settlement))
        self._woken.set()

    @property
    def listens(self) -> bool:
        """Whether there is an experiment that a caller's word may count for."""
        return bool(self._experiments)

    def told(self, tenant: str, request_id: str, values: Mapping[str, Value]) -> None:
        """Something was said of an earlier request of this tenant. Returns at once."""
        if self._experiments and values and len(self._waiting) < self._most:
            self._waiting.append(Told(tenant, request_id, values))
            self._woken.set()

    def compared(self, pair: Pair) -> None:
        """A request was asked by a rollout's change as well. Returns at once."""
        if len(self._waiting) < self._most:
            self._waiting.append(pair)
            self._woken.set()

    def signalled(self, signal: SignalRecord) -> None:
        """A caller said something without words."""
        if signal.signal == "regenerated":
            self.told(signal.tenant, signal.request_id, {"regenerated": 1.0})

    @property
    def waiting(self) -> int:
        """Words that are not taken in yet."""
        return len(self._waiting)

    @property
    def chapters(self) -> Mapping[str, Chapter]:
        """As they were after the last look."""
        return dict(self._bench.chapters)

    async def follow(self) -> None:
        """For as long as the process lives."""
        while True:
            try:
                async with asyncio.timeout(LOOK_S):
                    await self._woken.wait()
            except TimeoutError:
                pass
            self._woken.clear()
            try:
                await self.step()
            except Exception:
                log.exception("experiments stay as they are")
                await asyncio.sleep(LOOK_S)
            await asyncio.sleep(PAUSE_S)

    async def step(self) -> None:
        """Everything that waits is taken in; once in a while it is judged, shared and kept."""
        if not (self._loads or self._waiting or self._orders or self._bench.chapters):
            return
        orders = [self._orders.popleft() for _ in range(len(self._orders))]
        await asyncio.to_thread(self._take, [(name, order) for name, order, _ in orders])
        self._tell_standings()
        for name, _, answer in orders:
            if not answer.done():
                answer.set_result(self._bench.chapters.get(name))
        if self._bench.chapters and self._now() - self._looked_at >= LOOK_S:
            self._looked_at = self._now()
            await self._exchange.with_others(self._bench)
            await asyncio.to_thread(self._look)
            self._tell_standings()

    async def aclose(self) -> None:
        """What waits is taken in and kept."""
        await asyncio.to_thread(self._take, ())
        await self._exchange.with_others(self._bench)
        await asyncio.to_thread(self._keep)
        if self._shelf is not None:
            self._shelf.release()

    def _take(self, orders: Sequence[tuple[str, Order]]) -> None:
        if self._loads:
            self._loads = False
            self._bench.load(self._experiments, self._kept(), self._now())
        for name, order in orders:
            self._bench.obey(name, order)
        events = [self._waiting.popleft() for _ in range(len(self._waiting))]
        if events:
            self._bench.take(events, self._now())

    def _kept(self) -> Mapping[str, Chapter]:
        return {} if self._shelf is None else self._shelf.all()

    def _before(self) -> Mapping[str, Standing]:
        """How experiments stood before this process: known from the first request on."""
        kept, now = self._kept(), self._now()
        self._exchange.remember(kept)
        return {found.name: carried(kept.get(found.name), found, now).standing for found in self._experiments}

    def _look(self) -> None:
        """Orders go before evidence."""
        if self._shelf is not None:
            for name in list(self._bench.chapters):
                order = self._shelf.taken_order(name)
                if order is not None:
                    self._bench.obey(name, order)
        self._bench.take((), self._now())
        self._bench.judge(self._now())
        if self._now() - self._kept_at >= KEEP_S:
            self._keep()

    def _keep(self) -> None:
        if self._shelf is None:
            return
        self._kept_at = self._now()
        for chapter in self._bench.chapters.values():
            self._shelf.write(chapter)

    def _tell_standings(self) -> None:
        """The next decision knows how they stand; a person reads it in the process's log."""
        self.forced = self._bench.forced
        self.ramps = self._exchange.begun(self._bench.ramps, self._experiments)
        self.shadowed = self._exchange.begun(self._bench.shadowed, self._experiments)
        for name, chapter in self._bench.chapters.items():
            before, standing = self._standings.get(name), chapter.standing
            if before is not None and before != standing:
                self._kept_at = self._looked_at = 0.0
                self._woken.set()
            if before is not None and (before.state, before.step) != (standing.state, standing.step):
                log.warning("%s", changed(chapter))
        self._standings = {name: chapter.standing for name, chapter in self._bench.chapters.items()}

    def _over(self, experiments: Sequence[Experiment], judged: Judged, settlement: Settlement) -> Over:
        return Over(
            at=self._now(),
            tenant=settlement.tenant,
            request_id=settlement.request_id,
            exposures=tuple(exposures_of(experiments, judged)),
            values=outcomes(settlement),
            without_unit=tuple(without_unit(experiments, judged)),
            waits=self._hears_again and settlement.end not in ("rejected", "error", "cancelled"),
        )
