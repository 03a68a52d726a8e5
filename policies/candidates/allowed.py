"""May the caller use this model?"""

from policies.catalogue import Model
from policies.facts import Facts


def why_not_allowed(model: Model, facts: Facts) -> str:
    """Why the caller may not use `model`, or "".

    >>> why_not_allowed(Model(name="large"), Facts(allowed_models=frozenset({"small"})))
    'the caller may not use large'
    """
    if facts.allowed_models is None or model.name in facts.allowed_models:
        return ""
    return f"the caller may not use {model.name}"
