"""`resilience:` as deciding uses it, and what a file may say of its hedge that makes no sense."""

from collections.abc import Iterator, Mapping

from policies.catalogue import Model
from policies.hedging.plan import Hedging
from policies.language.draft import Draft
from policies.language.problem import Problem
from policies.language.sections.resilience import HedgeEntry, ResilienceEntry
from policies.language.tree import Path
from policies.policy import Resilience

HERE: Path = ("resilience", "hedge")


def compile_resilience(limits: ResilienceEntry) -> Resilience:
    return Resilience(
        attempts=limits.attempts,
        connect_s=limits.connect,
        first_content_s=limits.first_content,
        gap_s=limits.gap,
        total_s=limits.total,
        retry_uncertain=limits.retry_uncertain,
        hedge=_hedging(limits.hedge),
        retry_budget=None if limits.retry is None else limits.retry.budget,
    )


def _hedging(entry: HedgeEntry | None) -> Hedging | None:
    if entry is None:
        return None
    return Hedging(
        after_s=entry.after.seconds,
        percentile=entry.after.percentile,
        budget=entry.budget,
        busy_over=1.0 if entry.unless is None else entry.unless.load.over,
    )


def hedge_meaning(draft: Draft, models: Mapping[str, Model]) -> Iterator[Problem]:
    """A hedge needs another replica of the same model, and must come before it is too late."""
    limits = draft.file.resilience
    if limits.hedge is None:
        return
    if not any(model.found_by or len(model.at) > 1 for model in models.values()):
        yield draft.at_key(HERE, "has no use: no model has more than one replica")
    if limits.hedge.after.seconds >= limits.first_content:
        told = f"is not before first_content ({limits.first_content:g} s), after which the attempt is given up"
        yield draft.at_value((*HERE, "after"), told)
