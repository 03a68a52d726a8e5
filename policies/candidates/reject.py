"""What to tell the client when every candidate fell: the fault of the model that came furthest."""

from collections.abc import Mapping, Sequence

from policies.candidates.can import ONLY_EMBEDS, lacking
from policies.candidates.fits import overflows_context, why_too_long
from policies.catalogue import Model
from policies.decision import Dropped, Reject
from policies.facts import Ability, Facts

WHERE_NEEDED: tuple[tuple[Ability, str, str], ...] = (
    ("vision", "messages", "read images"),
    ("audio", "messages", "hear audio"),
    ("tools", "tools", "use tools"),
    ("json_schema", "response_format", "keep to a JSON schema"),
    ("logprobs", "logprobs", "give log-probabilities"),
    ("reasoning", "reasoning_effort", "be asked to think"),
    ("embeddings", "model", "embed"),
)
"""Ability, the field of the request that asks for it, and what it lets a model do."""


def reject(models: Mapping[str, Model], facts: Facts, dropped: Sequence[Dropped]) -> Reject:
    """The reject for a request that none of the models in `dropped` may answer.

    The filters stand in a fixed order, so the model that fell last was nearest to answering: its fault is the one that
    the client can do something about.
    """
    fell = {drop.filter: [models[d.model] for d in dropped if d.filter == drop.filter] for drop in dropped}
    if "healthy" in fell:
        return unavailable([drop for drop in dropped if drop.filter == "healthy"])
    if "fits" in fell:
        return too_long(fell["fits"], facts)
    if "dialect" in fell:
        return uncarried(fell["dialect"], facts)
    if "can" in fell:
        return unsupported(fell["can"], facts)
    names = ", ".join(sorted({drop.model for drop in dropped}))
    return Reject("model_not_allowed", f"this key may not use {names}", "model")


def unavailable(dropped: Sequence[Dropped]) -> Reject:
    down = ", ".join(f"{drop.model} ({drop.reason})" for drop in dropped)
    return Reject("unavailable", f"no replica is ready: {down}; try again shortly")


def too_long(models: Sequence[Model], facts: Facts) -> Reject:
    """The widest window counts; a message that names a smaller one would send the client the wrong way."""
    narrow = [model for model in models if overflows_context(model, facts)]
    if len(narrow) == len(models):
        widest = max(models, key=lambda model: model.fits.context or 0)
        why = why_too_long(widest, facts)
        return Reject("context_length_exceeded", f"{why}; shorten the prompt or lower max_tokens", "messages")
    widest = max((m for m in models if m not in narrow), key=lambda model: model.fits.output or 0)
    return Reject("context_length_exceeded", f"{why_too_long(widest, facts)}; lower max_tokens", "max_tokens")


def uncarried(models: Sequence[Model], facts: Facts) -> Reject:
    """The field that no dialect of these models has words for."""
    fault = facts.uncarried[models[0].name]
    return Reject("unsupported_content", fault.message, fault.param)


def unsupported(models: Sequence[Model], facts: Facts) -> Reject:
    """Names an ability that all lack, else what the one with the fewest gaps lacks."""
    names = ", ".join(model.name for model in models)
    if "embeddings" not in facts.needs and all(model.can == ONLY_EMBEDS for model in models):
        return Reject("unsupported_content", f"no model that may answer this request ({names}) can chat", "model")
    lacked = [lacking(model, facts) for model in models]
    lacks = frozenset.intersection(*lacked) or min(lacked, key=len)
    param, deed = next((param, deed) for ability, param, deed in WHERE_NEEDED if ability in lacks)
    return Reject("unsupported_content", f"no model that may answer this request ({names}) can {deed}", param)
