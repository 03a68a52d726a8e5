"""Every variant that changes something as a whole policy, and every two that one request can have together."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import reduce
from itertools import product

import msgspec

from policies.escalate.plan import Escalation
from policies.experiments.plan import Experiment
from policies.language.compile import compile_policy
from policies.language.draft import Draft, draft
from policies.language.meanings.models import compile_models
from policies.language.overrides import CLOSED, Misplaced, Override, overrides_in, placed, without
from policies.language.problem import Problem, Source
from policies.language.tree import Path, descend
from policies.policy import Choose, Policy

MOST = 64
"""Policies that the variants of a file may come to."""

Pick = tuple[int, str]
"""An experiment by its place in the file, rollouts after experiments, and a variant of it."""


class Solved(msgspec.Struct, frozen=True):
    """What solving an arm came to: for each route its choice, and the escalations."""

    choices: tuple[Choose | None, ...]
    escalations: Mapping[str, Escalation]


class Arm(msgspec.Struct, frozen=True):
    """A combination of variants: its name, as `experiment=variant` for each, and what they state."""

    name: str
    overrides: tuple[Override, ...]


def arms_of(found: Draft, experiments: Sequence[Experiment]) -> list[Arm]:
    """In the order of the file; MOST and one more at most."""
    named = []
    for picks in _combinations(experiments):
        name = ",".join([f"{experiments[i].name}={variant}" for i, variant in picks])
        named.append(Arm(name, tuple([one for i, variant in picks for one in stated(found, i, variant)])))
        if len(named) > MOST:
            break
    return named


def stated(found: Draft, place: int, variant: str) -> tuple[Override, ...]:
    """What a variant changes. Rollouts come after the experiments, and have one variant that does."""
    tried = len(found.file.experiments)
    path: Path = ("experiments", place, "variants", variant, "set")
    if place >= tried:
        path = ("rollouts", place - tried, "change")
    steps = list(descend(found.root, path))
    return overrides_in(steps[-1][2]) if len(steps) == len(path) else ()


def _combinations(experiments: Sequence[Experiment]) -> Iterator[tuple[Pick, ...]]:
    """Of each experiment nothing or one variant that changes something; of one layer one at most, and routes in common."""
    options: list[list[Pick | None]] = [
        [None, *[(i, variant.name) for variant in experiment.variants if variant.changes]]
        for i, experiment in enumerate(experiments)
    ]
    for chosen in product(*options):
        picks = tuple([pick for pick in chosen if pick is not None])
        layers = {experiments[i].layer for i, _ in picks}
        if picks and len(layers) == len(picks) and frozenset.intersection(*[experiments[i].routes for i, _ in picks]):
            yield picks


def too_many(found: Draft) -> Problem:
    told = f"come to more than {MOST} policies by their variants together; put them into one layer"
    return found.at_key(("experiments",), told)


def rewritten(found: Draft, arm: Arm) -> tuple[Draft | None, list[Problem]]:
    """The file as this arm has it, and what is wrong with how it is written then."""
    try:
        root = reduce(placed, arm.overrides, without(found.root, CLOSED[2:]))
    except Misplaced as error:
        at = next(one.at for one in arm.overrides if str(error).startswith(f"{one.path}:"))
        return None, [found.source.problem(at, str(error))]
    return draft(found.source, root)


def in_arm(found: Draft, arm: Arm, problems: Iterable[Problem]) -> list[Problem]:
    """The problems as those of the variant, at its own lines also where something else of the file no longer fits."""
    return [_in_arm(found.source, arm, problem) for problem in problems]


def _in_arm(source: Source, arm: Arm, problem: Problem) -> Problem:
    at = (problem.line, problem.column)
    if any(one.covers(at) for one in arm.overrides):
        return msgspec.structs.replace(problem, message=f"{arm.name}: {problem.message}")
    elsewhere = f"{arm.name}: {problem.message} (line {problem.line}), with what is set here"
    return source.problem(arm.overrides[0].at, elsewhere)


def solved(policy: Policy) -> Solved:
    return Solved(tuple([route.choose for route in policy.routes]), policy.escalations)


def restored_arms(
    found: Draft, kept: Mapping[str, Solved], base: Policy, experiments: Sequence[Experiment]
) -> dict[str, Policy]:
    """Arms as they were when their policy came into force. Raises ValueError where the text has them no longer."""
    arms: dict[str, Policy] = {}
    for arm in arms_of(found, experiments):
        own, problems = rewritten(found, arm)
        if own is None or problems or arm.name not in kept:
            raise ValueError(f"the arm {arm.name} cannot be restored")
        arms[arm.name] = policy_of(own, kept[arm.name], base)
    return arms


def policy_of(own: Draft, of: Solved, base: Policy) -> Policy:
    """An arm's policy, which goes by the file's hash and name."""
    return compile_policy(
        own.file,
        compile_models(own.file),
        of.choices,
        escalations=of.escalations,
        name=base.name,
        digest=base.hash,
    )


def joined(base: Policy, experiments: tuple[Experiment, ...], arms: Mapping[str, Policy]) -> Policy:
    """The file's policy with its experiments and their arms. All go by its hash, and read the same headers, so that facts are
    those of any."""
    headers = base.headers_read.union(*[arm.headers_read for arm in arms.values()])
    same = {name: msgspec.structs.replace(arm, hash=base.hash, headers_read=headers) for name, arm in arms.items()}
    return msgspec.structs.replace(base, headers_read=headers, experiments=experiments, arms=same)
