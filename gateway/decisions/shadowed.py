"""What a log tells of one question: who answered it how well, and how rare it is that this is known."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from gateway.decisions.comparisons import Chances, chance_of, said_of_both, said_of_shadow, standing
from gateway.decisions.evidence import UNDECIDED
from gateway.decisions.labels import Label, labels_of
from gateway.decisions.record import DecisionRecord, ShadowRecord
from policies.policy import Policy
from policies.shadows.agreed import bounded

MOST_WEIGHT = 50.0
"""Of one question, and of one answer: what was there with less than one chance in 50 weighs no more than that."""

Heads = Mapping[str, str]
"""By model, what a classifier calls it."""


class Question(NamedTuple):
    """`labels` have one for each model at most. `weight` is the question's, `weights` by model those of answers that a shadow's
    draw brought. `stands` are models whose answers were compared without a word: what was estimated of them stands. `heard`
    counts the comparisons that taught something."""

    labels: Sequence[Label]
    weight: float
    weights: Mapping[str, float]
    stands: frozenset[str]
    heard: int


class Heard(NamedTuple):
    """One comparison, and what it says of the qualities of both; None of whom it says nothing."""

    told: ShadowRecord
    primary: float | None
    shadow: float | None


def question_of(
    record: DecisionRecord, policy: Policy, ladder: Sequence[str], worth: float | None, beside: Iterable[ShadowRecord]
) -> Question:
    """`policy` is the file's own, without a variant; `ladder` the heads that the route chose among, `worth` what callers said.

    What is known of an answer otherwise goes before what shadows say; several shadows say their mean.
    """
    heads = {name: model.head for name, model in policy.arm(record.decision.assignments).models.items()}
    own = [label for label in labels_of(record, worth) if label.model in heads]
    answered = record.outcome.answered_by
    known = {label.model: label.quality for label in own}
    worth = None if answered is None else known.get(answered.model)
    primary = None if answered is None else heads.get(answered.model)
    others = {name for name, head in heads.items() if name not in known and are_two(primary, head, ladder)}
    pairs = [told for told in standing(record, beside, policy) if told.model in others]
    heard = list(listen(pairs, worth, record.estimate.p_good, heads))
    says = said(heard)
    chances = chances_of(record, heard, policy, others, rated=worth is not None)
    return Question(
        labels=[*own, *[Label(model, sum(each) / len(each), "shadow") for model, each in says.items()]],
        weight=inverse(record.probability * (1.0 if own or not heard else chances[heard[0].told.primary])),
        weights={
            model: inverse(record.probability * chance) for model, chance in chances.items() if model not in known
        },
        stands=frozenset(chances.keys() - says.keys() - known.keys()),
        heard=len(heard),
    )


def are_two(primary: str | None, shadow: str | None, ladder: Sequence[str]) -> bool:
    """A head is not compared with itself; by others than the route's a preference would mean something else."""
    return primary != shadow and primary in ladder and shadow in ladder


def listen(
    pairs: Iterable[ShadowRecord], worth: float | None, p_good: Mapping[str, float], heads: Heads
) -> Iterator[Heard]:
    for told in pairs:
        before = Chances(*[bounded(p_good.get(heads[model], UNDECIDED)) for model in (told.primary, told.model)])
        if worth is not None:
            yield Heard(told, None, said_of_shadow(told, worth, before.shadow))
        elif (both := said_of_both(told, before)) is not None:
            yield Heard(told, *both)


def said(heard: Iterable[Heard]) -> dict[str, list[float]]:
    """By model."""
    found: dict[str, list[float]] = defaultdict(list)
    for told, *qualities in heard:
        for model, quality in zip((told.primary, told.model), qualities, strict=True):
            if quality is not None:
                found[model].append(quality)
    return found


def chances_of(
    record: DecisionRecord, heard: Sequence[Heard], policy: Policy, others: Collection[str], *, rated: bool
) -> dict[str, float]:
    """By model, the chance that shadows would tell of its answer; the primary's is that of any, of whichever of the `others`.
    Where the answer is `rated`, or comes to something, a shadow needs no judge."""
    unjudged = rated or any(one.told.comes_to for one in heard)
    models = {model for one in heard for model in (one.told.primary, one.told.model)}
    by = {model: [one.told for one in heard if model in (one.told.primary, one.told.model)] for model in models}
    return {
        model: chance_of(record, told, policy, {model} if model in others else others, unjudged=unjudged)
        for model, told in by.items()
    }


def inverse(chance: float) -> float:
    return 1 / max(chance, 1 / MOST_WEIGHT)
