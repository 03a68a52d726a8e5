"""Who is asked of a shadow: the model that the policy names, or whoever a rollout's change would have asked."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

import msgspec

from gateway.live.in_force import Live
from gateway.request.facts import question_of
from gateway.request.reading.carried import uncarried
from gateway.request.reading.draw import draw_of
from gateway.request.snapshot import World, take_snapshot
from gateway.shadows.ask import Told
from gateway.shadows.chapter import Result
from gateway.shadows.circuit import Circuit
from gateway.shadows.errand import Errand
from gateway.shadows.reach import Reach
from policies.catalogue import Model
from policies.decide import decide_by
from policies.decision import Call
from policies.estimates import Estimate
from policies.experiments.enrol import arm_of, with_canary
from policies.facts import Facts
from policies.shadows.sample import why_unfit


class Asked(NamedTuple):
    """A model at a replica, of this policy."""

    live: Live
    call: Call


class Whom(Protocol):
    async def choose(self, live: Live, errand: Errand) -> Asked | Result: ...

    def learn(self, call: Call, told: Told) -> None: ...


class OneModel:
    """`to`, wherever it does not rest: by its own calls, not by those of requests. `why_not` tells who cannot be asked."""

    def __init__(self, to: str, reach: Reach, why_not: Callable[[Model, Facts], str] = why_unfit) -> None:
        self._to, self._reach, self._why_not = to, reach, why_not
        self._circuit = Circuit()

    async def choose(self, live: Live, errand: Errand) -> Asked | Result:
        model = live.policy.models.get(self._to)
        if model is None or self._why_not(model, errand.facts):
            return "unfit"
        replica = self._circuit.choice(self._reach.replicas(live, model.name))
        return "resting" if replica is None else Asked(live, Call(model.name, replica))

    def learn(self, call: Call, told: Told) -> None:
        self._circuit.learn(call.replica, told)


class Change:
    """Who would have answered had the request been of the rollout's canary. Who fails is asked again: it would be."""

    def __init__(self, rollout: str, world: World) -> None:
        self._rollout, self._world = rollout, world

    async def choose(self, live: Live, errand: Errand) -> Asked | Result:
        assigned = errand.judged.decision.assignments
        arm = live.arms.get(arm_of(with_canary(live.policy.experiments, assigned, self._rollout)))
        if arm is None:
            return "unfit"
        facts = msgspec.structs.replace(errand.facts, uncarried=uncarried(errand.request, arm.policy.models))
        estimate = await estimate_by(arm, live.arm(assigned), errand)
        snapshot = take_snapshot(arm, {}, {}, self._world, draw_of(errand.request, errand.salt))
        step = decide_by(arm.policy, facts, estimate, snapshot, itemises=False).steps[0]
        if not isinstance(step, Call):
            return "refused"
        return "unchanged" if is_the_same(live.arm(assigned), errand.answered_by, arm, step) else Asked(arm, step)

    def learn(self, call: Call, told: Told) -> None:
        """Nobody rests: that it fails is what is to be learnt."""


async def estimate_by(arm: Live, before: Live, errand: Errand) -> Estimate:
    """The request's own, but where the change has another classifier."""
    difficulty, known = arm.policy.difficulty, errand.judged.estimate
    if difficulty is None or arm.estimator is None or arm.estimator is before.estimator or known.abstains:
        return known
    found = arm.estimator.begin(question_of(errand.request), difficulty.within_ms / 1_000)
    return found if isinstance(found, Estimate) else await found


def is_the_same(before: Live, primary: Call, arm: Live, step: Call) -> bool:
    """Whether the change asks the same of the same model: a pair would compare it with itself."""
    one, other = before.policy.models.get(primary.model), arm.policy.models[step.model]
    return one is not None and msgspec.structs.replace(one, name="") == msgspec.structs.replace(other, name="")
