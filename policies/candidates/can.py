"""Has this model the abilities that the request needs, and may it be asked to think?"""

from policies.catalogue import Model
from policies.facts import Ability, Facts

ONLY_EMBEDS: frozenset[Ability] = frozenset({"embeddings"})
"""What can embed and nothing else is no chat model."""


THINKS: frozenset[Ability] = frozenset({"reasoning"})


def lacking(model: Model, facts: Facts) -> frozenset[Ability]:
    """
    >>> sorted(lacking(Model(name="m", thinking="refuse"), Facts(needs=frozenset({"tools"}), thinking="words")))
    ['reasoning', 'tools']
    """
    lacks = facts.needs - model.can
    return lacks | THINKS if facts.thinking and model.thinking == "refuse" else lacks


def why_it_cannot(model: Model, facts: Facts) -> str:
    """Which needed abilities `model` lacks, or "".

    >>> why_it_cannot(Model(name="small"), Facts(needs=frozenset({"vision", "tools"})))
    'small lacks tools, vision'
    """
    if model.can == ONLY_EMBEDS and "embeddings" not in facts.needs:
        return f"{model.name} embeds and does not chat"
    lacks = lacking(model, facts)
    return f"{model.name} lacks {', '.join(sorted(lacks))}" if lacks else ""
