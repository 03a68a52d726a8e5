"""How much is to be thought is a wish: whoever cannot heed it answers without, and the decision says so, or is not asked."""

from collections.abc import Mapping

import msgspec

from policies.catalogue import Model
from policies.decision import Call, Decision
from policies.facts import Facts


def hears_of_it(model: Model, facts: Facts) -> bool:
    """Whether `model` is told how much the client wants to be thought. Our own engine heeds no such word.

    >>> hears_of_it(Model(name="m"), Facts(thinking="tokens")), hears_of_it(Model(name="m"), Facts(thinking="words"))
    (False, True)
    """
    if model.run is not None or model.worker:
        return False
    if model.thinking == "pass":
        return facts.thinking == "words" or model.dialect == "anthropic"
    return model.thinking == "tell"


def with_untold(decision: Decision, models: Mapping[str, Model], facts: Facts) -> Decision:
    """The decision, with the names of those who may be asked and do not hear of it."""
    hold = decision.hold
    calls = [step for step in decision.steps if isinstance(step, Call)] + list(hold.to if hold is not None else ())
    names = dict.fromkeys(call.model for call in calls)
    untold = tuple([name for name in names if not hears_of_it(models[name], facts)])
    return msgspec.structs.replace(decision, untold=untold) if untold else decision
