"""Rollouts that are compared by their shadows before anybody has the change."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import msgspec

from gateway.experiments.bench import Pair, Shadowed
from gateway.request.snapshot import World
from gateway.shadows.whom import Change
from policies.policy import Policy
from policies.shadows.plan import Shadow, of_rollout


@dataclass(frozen=True, slots=True)
class Rollouts:
    """`asked` tells which are at such a step, `tells` takes what a pair came to; `world` is what deciding by a change reads."""

    asked: Callable[[], Mapping[str, Shadowed]]
    tells: Callable[[Pair], object]
    world: World

    def plans(self, policy: Policy) -> Iterator[Shadow]:
        """As they draw requests now."""
        asked = self.asked()
        for experiment in policy.experiments if asked else ():
            now, plan = asked.get(experiment.name), of_rollout(experiment)
            if now is not None and plan is not None:
                yield msgspec.structs.replace(plan, sample=now.share, round=now.round)

    def whom(self, rollout: str) -> Change:
        return Change(rollout, self.world)
