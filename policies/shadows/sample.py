"""Who is sampled. By the request's id alone, so that it can be said again which requests were, and with which chance."""

from collections.abc import Iterable

import msgspec

from policies.candidates.allowed import why_not_allowed
from policies.candidates.can import why_it_cannot
from policies.candidates.dialect import why_not_carried
from policies.candidates.fits import why_too_long
from policies.catalogue import Model
from policies.decision import Call, Decision
from policies.experiments.assign import draw
from policies.facts import Facts
from policies.shadows.plan import Shadow


class Picked(msgspec.Struct, frozen=True):
    """A request that `shadow` is to be asked as well; `twice`: the model that answers is asked once more too;
    `judged`: a judge is shown both answers."""

    shadow: Shadow
    twice: bool = False
    judged: bool = False

    @property
    def propensity(self) -> float:
        return self.shadow.sample


def picks(shadows: Iterable[Shadow], facts: Facts, decision: Decision, request_id: str) -> tuple[Picked, ...]:
    """Every shadow that has drawn this request. Whether it may be asked hangs on who answers as well (`is_of`)."""
    return tuple(
        [
            Picked(
                shadow,
                draw("shadow twice", shadow.name, request_id) < shadow.answer_twice,
                shadow.judge is not None and draw("shadow judged", shadow.name, request_id) < shadow.judge.of,
            )
            for shadow in shadows
            if draw("shadow", shadow.name, request_id) < shadow.sample
            and may_be_of(shadow, decision)
            and not shadow.leaves_out(facts)
        ]
    )


def may_be_of(shadow: Shadow, decision: Decision) -> bool:
    """Whether the route is the shadow's, or a model of its may be who answers."""
    if decision.route in shadow.routes:
        return True
    asked = (*decision.steps, *(decision.hold.to if decision.hold is not None else ()))
    return any(isinstance(step, Call) and step.model in shadow.models for step in asked)


def is_of(shadow: Shadow, route: str, model: str) -> bool:
    """Whether an answer of `model` on this route is what the shadow is compared with. Nobody is compared with itself.

    >>> is_of(Shadow(name="s", to="small", routes=frozenset({"code"})), "code", "large")
    True
    """
    return model != shadow.to and (route in shadow.routes or model in shadow.models)


def why_unfit(model: Model, facts: Facts) -> str:
    """Why `model` cannot be asked this for this caller, or "": the same filters that any candidate passes."""
    return (
        why_not_allowed(model, facts)
        or why_it_cannot(model, facts)
        or why_not_carried(model, facts)
        or why_too_long(model, facts)
    )
