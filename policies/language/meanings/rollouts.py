"""`rollouts:` as deciding uses them, and what a file may say of them that makes no sense."""

from collections.abc import Iterator

from policies.experiments.plan import CANARY, CONTROL, Experiment, Step, Variant
from policies.language.draft import Draft
from policies.language.meanings.experiments import (
    compile_guardrails,
    pinned_routes,
    routes_of,
    stands_for,
    unknown_names,
)
from policies.language.overrides import overlap
from policies.language.problem import Problem
from policies.language.schema import PolicyFile
from policies.language.sections.rollouts import RolloutEntry, StepEntry
from policies.language.tree import Path


def rollout_names(draft: Draft) -> Iterator[Problem]:
    """Routes and guardrails that are named but do not exist."""
    for i, entry in enumerate(draft.file.rollouts):
        yield from unknown_names(draft, ("rollouts", i), entry)


def rollout_meaning(draft: Draft) -> Iterator[Problem]:
    """Steps that lead nowhere, names twice, changes of the same place."""
    for i, entry in enumerate(draft.file.rollouts):
        here: Path = ("rollouts", i)
        yield from pinned_routes(draft, here, entry)
        yield from _repeated(draft, i, entry)
        yield from _steps(draft, here, entry)
        yield from _same_places(draft, i, entry)


def _repeated(draft: Draft, i: int, entry: RolloutEntry) -> Iterator[Problem]:
    names = [*[other.name for other in draft.file.experiments], *[other.name for other in draft.file.rollouts[:i]]]
    if entry.name in names:
        yield draft.at_value(("rollouts", i, "name"), "is the name of another experiment or rollout")


def _steps(draft: Draft, here: Path, entry: RolloutEntry) -> Iterator[Problem]:
    reached = 0.0
    for j, step in enumerate(entry.steps):
        at: Path = (*here, "steps", j)
        if step.approve is not None and (step.for_ is not None or step.and_ is not None):
            yield draft.at_key(at, "waits for a person, for as long as that takes: for and samples go with traffic")
        yield from _shadow(draft, at, step, reached)
        if step.traffic is None:
            continue
        if step.traffic <= reached:
            told = f"is not more than the {100 * reached:g}% of the step before; steps go up, and abort takes all back"
            yield draft.at_value((*at, "traffic"), told)
        if step.for_ is None and step.and_ is None:
            yield draft.at_key(at, "would be over at once: state for, or and: {samples: ...}, or both")
        reached = max(reached, step.traffic)
    if not reached:
        yield draft.at_key((*here, "steps"), "have no traffic: nothing would ever be tried")


def _shadow(draft: Draft, at: Path, step: StepEntry, reached: float) -> Iterator[Problem]:
    if step.shadow is None:
        if step.until is not None:
            yield draft.at_key(at, "has until, which goes with shadow")
        return
    if step.until is None:
        yield draft.at_key(at, "has no end: state until: {pairs: 500} or another number; no more are asked")
    if step.for_ is not None or step.and_ is not None:
        yield draft.at_key(at, "is over when its pairs are compared: for and samples go with traffic")
    if reached:
        yield draft.at_value(
            (*at, "shadow"), "comes after traffic; who has the change already shows more than its shadow"
        )


def _same_places(draft: Draft, i: int, entry: RolloutEntry) -> Iterator[Problem]:
    """What one request can be part of must not change the same place twice."""
    for name, paths in _changed_beside(draft, i, entry):
        for path in entry.change:
            if any(overlap(path, theirs) for theirs in paths):
                told = f"is changed by {name} too, for the same requests; bring in one after the other"
                yield draft.at_key(("rollouts", i, "change", path), told)


def _changed_beside(draft: Draft, i: int, entry: RolloutEntry) -> Iterator[tuple[str, list[str]]]:
    file = draft.file
    for other in file.experiments:
        if routes_of(file, other) & routes_of(file, entry):
            yield other.name, [path for variant in other.variants.values() for path in variant.set_]
    for before in file.rollouts[:i]:
        if routes_of(file, before) & routes_of(file, entry):
            yield before.name, list(before.change)


def compile_rollouts(file: PolicyFile) -> tuple[Experiment, ...]:
    """The rollouts of a file that makes sense, before their first step: nobody takes part."""
    guardrails = compile_guardrails(file)
    return tuple(
        Experiment(
            name=entry.name,
            unit=entry.unit,
            layer=f"rollout {entry.name}",
            salt=entry.salt,
            variants=(Variant(CONTROL, 1.0), Variant(CANARY, 1.0, stands_for(entry.change))),
            routes=routes_of(file, entry),
            ends=0.0,
            watch=tuple([guardrails[name] for name in entry.watch]),
            sample_ratio_alpha=entry.health.sample_ratio,
            steps=tuple([_step(step) for step in entry.steps]),
            compare_with=entry.compare_with,
        )
        for entry in file.rollouts
    )


def _step(entry: StepEntry) -> Step:
    return Step(
        share=entry.traffic or 0.0,
        for_s=entry.for_ or 0.0,
        samples=0 if entry.and_ is None else entry.and_.samples,
        approve=entry.approve or "",
        shadow=entry.shadow or 0.0,
        pairs=0 if entry.until is None else entry.until.pairs,
    )
