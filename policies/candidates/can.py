"""Has this model the abilities that the request needs?"""

from policies.catalogue import Model
from policies.facts import Ability, Facts

ONLY_EMBEDS: frozenset[Ability] = frozenset({"embeddings"})
"""What can embed and nothing else is no chat model."""


def why_it_cannot(model: Model, facts: Facts) -> str:
    """Which needed abilities `model` lacks, or "".

    >>> why_it_cannot(Model(name="small"), Facts(needs=frozenset({"vision", "tools"})))
    'small lacks tools, vision'
    """
    if model.can == ONLY_EMBEDS and "embeddings" not in facts.needs:
        return f"{model.name} embeds and does not chat"
    if facts.needs <= model.can:
        return ""
    return f"{model.name} lacks {', '.join(sorted(facts.needs - model.can))}"
