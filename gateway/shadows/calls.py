"""One call of a shadow with its money and its trace: what it charged is in the books whatever becomes of it."""

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from backends.errors import UpstreamError
from backends.upstream import Upstream
from gateway.request.reading.carried import SHADOW_HEADER
from gateway.shadows.ask import Told, ask, most_microusd, most_tokens, spent_microusd
from gateway.shadows.chapter import Result
from gateway.shadows.errand import Errand, Question
from gateway.shadows.reach import Reach, prepared
from gateway.shadows.till import Till
from gateway.shadows.whom import Asked
from gateway.telemetry.observe import ShadowObservation
from policies.catalogue import Model
from policies.shadows.plan import Shadow


class Calls:
    """`spent` hears what each came to, in micro-dollars."""

    def __init__(self, reach: Reach, till: Till, spent: Callable[[int], object]) -> None:
        self._reach, self._till, self._spent = reach, till, spent

    async def ask(self, plan: Shadow, asked: Asked, errand: Errand, question: Question) -> Told | Result:
        """Within the limits of `plan`. A rollout's pairs are its bound, so it has no purse."""
        live, call = asked
        upstream, model = self._reach.upstream(live, call), live.policy.models.get(call.model)
        if upstream is None or model is None:
            return "resting"
        most = most_microusd(model, *question)
        if not plan.rollout and not await self._till.reserve(plan.name, most, plan.limits.microusd_per_day):
            return "over_budget"
        told, seen = Told(failed="cancelled"), errand.observation.shadow(plan.name, call)
        try:
            told = await self._ask(upstream, model, errand.salt, question, seen, plan.limits.deadline_s)
        finally:
            spent = spent_microusd(told, model.price, most)
            told = msgspec.structs.replace(told, microusd=spent, trace_id=seen.trace_id)
            if not plan.rollout:
                self._till.settle(plan.name, most, spent)
            self._spent(spent)
            seen.end(told.failed, told.usage, spent)
        return told

    async def _ask(  # noqa: PLR0917  one call
        self,
        upstream: Upstream,
        model: Model,
        salt: bytes,
        question: Question,
        seen: ShadowObservation,
        within_s: float,
    ) -> Told:
        request, facts = question
        try:
            prompt = prepared(upstream, model, request, facts, apart(salt))
        except UpstreamError as error:
            return Told(failed=error.kind, sent=False)
        headers = {**seen.headers, SHADOW_HEADER: "true"}
        return await ask(upstream, request, prompt, within_s, headers, most_tokens(model, request))


def apart(salt: bytes) -> bytes:
    """Of the prompts of shadows: no request's prefix is theirs, nor theirs a request's."""
    return blake2b(salt, digest_size=16, person=b"turnout-shadow").digest()
