"""Can this request be put to this model at all?"""

from policies.catalogue import Model
from policies.facts import Facts


def why_not_carried(model: Model, facts: Facts) -> str:
    """Why the dialect of `model` cannot carry the request, or "".

    >>> from policies.facts import Uncarried
    >>> why_not_carried(Model(name="large"), Facts(uncarried={"large": Uncarried("n has no counterpart.", "n")}))
    'its dialect cannot carry the request: n has no counterpart.'
    """
    fault = facts.uncarried.get(model.name)
    return f"its dialect cannot carry the request: {fault.message}" if fault is not None else ""
