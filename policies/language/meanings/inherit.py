"""`like`: every fact of another model, then some changed."""

from collections.abc import Mapping

from policies.language.sections.models import ModelEntry

PLACES = ("at", "run")
OF_A_PLACE = (*PLACES, "worker", "replicas", "watch", "events", "key", "serves", "dialect", "speaks")
"""Facts of where a model runs: they stay behind when it moves."""


def inherited(models: Mapping[str, ModelEntry], name: str) -> ModelEntry:
    """The entry with all facts filled in. The chain of `like` must be sound (see `circle`).

    An own `run` takes the place of an inherited `at`, with its key and name there; and the other way round.
    """
    entry = models[name]
    own = {key: getattr(entry, key) for key in entry.model_fields_set if key != "like"}
    if entry.like is None:
        return ModelEntry.model_construct(None, **own)
    parent = inherited(models, entry.like)
    left = OF_A_PLACE if _moves(own, parent) else ()
    taken = {key: getattr(parent, key) for key in parent.model_fields_set if key not in left}
    return ModelEntry.model_construct(None, **{**taken, **own})


def _moves(own: Mapping[str, object], parent: ModelEntry) -> bool:
    is_elsewhere = parent.at is not None or parent.replicas == "announced"
    return ("run" in own and is_elsewhere) or ("at" in own and parent.run is not None)


def circle(models: Mapping[str, ModelEntry], name: str) -> str:
    """The chain of `like` that leads from `name` back to itself or to an earlier step, or ""."""
    seen = [name]
    while (entry := models.get(seen[-1])) is not None and entry.like is not None:
        if entry.like in seen:
            return " -> ".join([*seen, entry.like])
        seen.append(entry.like)
    return ""
