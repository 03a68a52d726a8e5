"""Targets are held through drift: what routes decide is gathered, and off the path of requests their lines are redrawn.

Every process follows the requests that it decides itself, so no state is shared.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, TypeVar

import msgspec

from gateway.control.bills import Settled, bills, used_of
from gateway.live.in_force import Live
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.telemetry.observe import Observer
from policies.decision import Decision
from policies.estimates import Estimate
from policies.experiments.enrol import arm_of
from policies.facts import Facts
from policies.policy import Choose, Line, Policy, Route
from policies.steering.helm import Helm, carried, turn
from policies.steering.sight import Decided, may_escalate, sights
from policies.steering.steer import EVERY, realised

log = logging.getLogger("turnout.policy")

PAUSE_S = 0.1
"""Between two looks, of LIGHT_S of the processor or less."""

LIGHT_S = 0.002
"""Longer looks have a pause that is as many times as long, MOST_TIMES at most: they take 2 % of a processor."""

MOST_TIMES = 10

MOST_A_LOOK = 100
"""Requests of a route that one look takes in, of those that were decided and of those that were settled: the newest. Where
more came they say as much as all, and ten looks a second fill a window."""

Over = tuple[Decided, Settlement]
"""A request that is over and was answered. What it used is looked up when a line is redrawn."""

Batch = Mapping[str, tuple[list[Decided], list[Over]]]
"""By route: what was decided, and what was settled."""

T = TypeVar("T")


class Turned(NamedTuple):
    """One route after a look: what steering it remembers, its line, and what its last requests came to, in percent of the
    target's reference."""

    helm: Helm
    line: Line
    came_to: float | None


class Lines:
    """Owns what was seen of each route since its line was last looked at, and what steering it remembers.

    `pause_s` lies between two looks, so that many requests a second do not mean many looks.
    """

    def __init__(self, now: Callable[[], float] = time.time, pause_s: float = PAUSE_S) -> None:
        self._now = now
        self._pause_s = pause_s
        self._seen: dict[str, deque[Decided]] = {}
        self._settled: dict[str, deque[Over]] = {}
        self._helms: Mapping[str, Helm] = {}
        self._came_to: Mapping[str, float | None] = {}
        self._woken = asyncio.Event()

    @property
    def waiting(self) -> Mapping[str, int]:
        """Requests of each route that no look has taken in yet."""
        return {route: len(seen) for route, seen in self._seen.items()}

    def saw(self, facts: Facts, estimate: Estimate, decision: Decision) -> None:
        """A request was decided and is going to be answered. Returns at once."""
        if decision.line is not None:
            waiting = waiting_at(self._seen, decision)
            waiting.append(Decided(facts, estimate, decision))
            if len(waiting) >= EVERY:
                self._woken.set()

    def settled(self, judged: Judged, settlement: Settlement) -> None:
        """One of those is over. What it was charged is known now, escalation and all."""
        decision = settlement.decision
        if decision is None or decision.line is None or settlement.answered_by is None or settlement.usage is None:
            return
        waiting = waiting_at(self._settled, decision)
        waiting.append((Decided(judged.facts, judged.estimate, decision), settlement))

    async def follow(self, in_force: Callable[[], Live], observer: Observer) -> None:
        """Redraw lines for as long as the process lives."""
        tell(in_force().policy, self._came_to, observer)
        while True:
            await self._woken.wait()
            self._woken.clear()
            took_s = 0.0
            try:
                took_s = await self.look(in_force, observer)
            except Exception:
                log.exception("the lines stay where they are")
            await asyncio.sleep(pause_after(took_s, self._pause_s))

    async def look(self, in_force: Callable[[], Live], observer: Observer) -> float:
        """One look at the routes that have seen enough, and the processor's time that it took. What a reload overtook is
        forgotten."""
        live = in_force()
        policy = live.policy
        turned, took_s = await asyncio.to_thread(timed, policy, self._helms, self._take(), self._now())
        if live.policy is policy and in_force() is live:
            self._helms = {**self._helms, **{route: one.helm for route, one in turned.items()}}
            self._came_to = {**self._came_to, **{route: one.came_to for route, one in turned.items()}}
            drawn = {place: choose.line for place, _, _, choose in steered(policy)}
            if moved := {route: one.line for route, one in turned.items() if one.line != drawn[route]}:
                live.redraw(redrawn(policy, moved))
            tell(live.policy, self._came_to, observer)
        return took_s

    def carry(self, old: Policy, new: Policy) -> Policy:
        """`new`, with what was learnt under `old` as far as it still means the same."""
        before = {place: choose for place, _, _, choose in steered(old)}
        kept = {
            place: carried(self._helms.get(place, Helm()), before[place], choose)
            for place, _, _, choose in steered(new)
            if place in before
        }
        self._seen.clear()
        self._settled.clear()
        self._helms = {route: helm for route, (helm, _) in kept.items()}
        now = {place: choose for place, _, _, choose in steered(new)}
        self._came_to = {place: came_to(now[place], helm) for place, helm in self._helms.items()}
        return redrawn(new, {route: line for route, (_, line) in kept.items()})

    def _take(self) -> Batch:
        full = [route for route, waiting in self._seen.items() if len(waiting) >= EVERY]
        return {route: (list(self._seen.pop(route)), list(self._settled.pop(route, ()))) for route in full}


def waiting_at(kept: dict[str, deque[T]], decision: Decision) -> deque[T]:
    """What waits at the decision's place; of more than a look takes in the oldest go."""
    place = place_of(arm_of(decision.assignments), decision.route) if decision.assignments else decision.route
    waiting = kept.get(place)
    if waiting is None:
        waiting = kept[place] = deque(maxlen=MOST_A_LOOK)
    return waiting


def pause_after(took_s: float, pause_s: float) -> float:
    """
    >>> pause_after(0.001, 0.1), pause_after(0.004, 0.1), pause_after(1.0, 0.1), pause_after(1.0, 0.0)
    (0.1, 0.2, 1.0, 0.0)
    """
    return pause_s * min(max(1.0, took_s / LIGHT_S), MOST_TIMES)


def timed(policy: Policy, helms: Mapping[str, Helm], batch: Batch, now: float) -> tuple[Mapping[str, Turned], float]:
    """`turn_all`, and the seconds of this thread that it took."""
    began = time.thread_time()
    return turn_all(policy, helms, batch, now), time.thread_time() - began


def turn_all(policy: Policy, helms: Mapping[str, Helm], batch: Batch, now: float) -> Mapping[str, Turned]:
    """Each route that adapts, one look later. A millisecond or two each."""
    turned: dict[str, Turned] = {}
    for place, own_policy, route, choose in steered(policy):
        if not choose.adapts or place not in batch:
            continue
        decided, settled = batch[place]
        own = [seen for seen in decided if seen.decision.policy_hash == policy.hash]
        ours = [(seen, told) for seen, told in settled if seen.decision.policy_hash == policy.hash]
        over = [Settled(seen, told.microusd, used_of(told)) for seen, told in ours]
        paid = list(bills(own_policy, route, choose, over))
        helm, fresh = helms.get(place, Helm()), sights(own_policy, route, choose, own, paid)
        at_most = may_escalate(own_policy, route)
        after, line = turn(helm, choose, fresh, now=now, remember_s=own_policy.remember_s, at_most=at_most)
        turned[place] = Turned(after, line, came_to(choose, after))
    return turned


def came_to(choose: Choose, helm: Helm) -> float | None:
    return realised(choose.target, helm.window, helm.bills) if helm.window else None


def steered(policy: Policy) -> Iterator[tuple[str, Policy, Route, Choose]]:
    """Every route that has a line, by its place: those of the file, and of each arm those that choose otherwise than in the
    file. Where an arm chooses alike it goes by the file's line, so that variants differ in what they set alone."""
    named = {route.name: route for route in policy.routes}
    for route in policy.routes:
        if route.choose is not None:
            yield route.name, policy, route, route.choose
    for name, arm in policy.arms.items():
        for route in arm.routes:
            base = named.get(route.name)
            if route.choose is not None and (base is None or not alike(base.choose, route.choose)):
                yield place_of(name, route.name), arm, route, route.choose


def redrawn(policy: Policy, lines: Mapping[str, Line]) -> Policy:
    """With these lines, by place. An arm's own line stays where it is unless it is among them."""
    of_arms = {place: choose.line for place, own, _, choose in steered(policy) if own is not policy}
    return policy.redrawn({**of_arms, **lines})


def alike(one: Choose | None, other: Choose) -> bool:
    """Whether two routes choose alike, wherever their lines are by now."""
    still = {"loss_per_reference": 0.0, "loss_before": 0.0}
    return one is not None and msgspec.structs.replace(one, **still) == msgspec.structs.replace(other, **still)


def place_of(arm: str, route: str) -> str:
    """
    >>> place_of("", "default"), place_of("e=treat", "default")
    ('default', 'e=treat/default')
    """
    return f"{arm}/{route}" if arm else route


def tell(policy: Policy, known: Mapping[str, float | None], observer: Observer) -> None:
    """What is to be held, by which line, and how well it is, as far as that is `known`."""
    for route in policy.routes:
        if route.choose is not None:
            observer.steered(route.name, route.choose, known.get(route.name))
