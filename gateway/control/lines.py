"""Targets are held through drift: what routes decide is gathered, and off the path of requests their lines are redrawn.

Every process follows the requests that it decides itself, so no state is shared.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Callable, Mapping

from gateway.live.in_force import Live
from gateway.telemetry.observe import Observer
from policies.decision import Decision
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Line, Policy
from policies.steering.helm import Helm, carried, turn
from policies.steering.sight import Decided, sights
from policies.steering.steer import EVERY, realised
from policies.steering.window import SIZE

log = logging.getLogger("turnout.policy")

PAUSE_S = 0.1

Batch = Mapping[str, list[Decided]]
Turned = Mapping[str, tuple[Helm, Line]]


class Lines:
    """Owns what was seen of each route since its line was last looked at, and what steering it remembers.

    `pause_s` lies between two looks, so that many requests a second do not mean many looks.
    """

    def __init__(self, now: Callable[[], float] = time.time, pause_s: float = PAUSE_S) -> None:
        self._now = now
        self._pause_s = pause_s
        self._seen: dict[str, deque[Decided]] = {}
        self._helms: Mapping[str, Helm] = {}
        self._woken = asyncio.Event()

    @property
    def waiting(self) -> Mapping[str, int]:
        """Requests of each route that no look has taken in yet."""
        return {route: len(seen) for route, seen in self._seen.items()}

    def saw(self, facts: Facts, estimate: Estimate, decision: Decision) -> None:
        """A request was decided and is going to be answered. Returns at once."""
        if decision.line is None:
            return
        waiting = self._seen.setdefault(decision.route, deque(maxlen=SIZE))
        waiting.append(Decided(facts, estimate, decision))
        if len(waiting) >= EVERY:
            self._woken.set()

    async def follow(self, in_force: Callable[[], Live], observer: Observer) -> None:
        """Redraw lines for as long as the process lives."""
        tell(in_force().policy, self._helms, observer)
        while True:
            await self._woken.wait()
            self._woken.clear()
            try:
                await self.look(in_force, observer)
            except Exception:
                log.exception("the lines stay where they are")
            await asyncio.sleep(self._pause_s)

    async def look(self, in_force: Callable[[], Live], observer: Observer) -> None:
        """One look at the routes that have seen enough. What a reload overtook is forgotten."""
        live = in_force()
        policy = live.policy
        turned = await asyncio.to_thread(turn_all, policy, self._helms, self._take(), self._now())
        if live.policy is policy and in_force() is live:
            self._helms = {**self._helms, **{route: helm for route, (helm, _) in turned.items()}}
            live.redraw(policy.redrawn({route: line for route, (_, line) in turned.items()}))
            tell(live.policy, self._helms, observer)

    def carry(self, old: Policy, new: Policy) -> Policy:
        """`new`, with what was learnt under `old` as far as it still means the same."""
        before = {route.name: route.choose for route in old.routes if route.choose is not None}
        kept = {
            route.name: carried(self._helms.get(route.name, Helm()), before[route.name], route.choose)
            for route in new.routes
            if route.choose is not None and route.name in before
        }
        self._seen.clear()
        self._helms = {route: helm for route, (helm, _) in kept.items()}
        return new.redrawn({route: line for route, (_, line) in kept.items()})

    def _take(self) -> Batch:
        full = [route for route, waiting in self._seen.items() if len(waiting) >= EVERY]
        return {route: list(self._seen.pop(route)) for route in full}


def turn_all(policy: Policy, helms: Mapping[str, Helm], batch: Batch, now: float) -> Turned:
    """The next helm and line of each route that adapts. A few milliseconds each."""
    turned: dict[str, tuple[Helm, Line]] = {}
    for route in policy.routes:
        if route.choose is None or not route.choose.adapts or route.name not in batch:
            continue
        own = [seen for seen in batch[route.name] if seen.decision.policy_hash == policy.hash]
        helm, fresh = helms.get(route.name, Helm()), sights(policy, route, route.choose, own)
        turned[route.name] = turn(helm, route.choose, fresh, now=now, remember_s=policy.remember_s)
    return turned


def tell(policy: Policy, helms: Mapping[str, Helm], observer: Observer) -> None:
    """What is to be held, by which line, and how well it is."""
    for route in policy.routes:
        if route.choose is not None:
            helm = helms.get(route.name, Helm())
            observer.steered(route.name, route.choose, realised(helm.window) if helm.window else None)
