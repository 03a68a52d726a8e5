"""load_policy(): text in, a policy or all of its problems out. Reads nothing itself."""

from collections.abc import Iterable, Mapping
from pathlib import PurePath

import msgspec

from policies.language.arms import MOST, Arm, arms_of, in_arm, joined, rewritten, too_many
from policies.language.compile import compile_policy, policy_hash, text_hash
from policies.language.draft import Draft, draft
from policies.language.faults import nulls
from policies.language.meanings.budgets import budget_meaning, budget_names
from policies.language.meanings.escalations import (
    Weigh,
    compile_escalations,
    escalation_meaning,
    escalation_names,
    no_weights,
)
from policies.language.meanings.examples import example_meaning, example_names
from policies.language.meanings.experiments import compile_experiments, experiment_meaning, experiment_names
from policies.language.meanings.models import compile_models, model_circles, model_meaning, model_names
from policies.language.meanings.resilience import hedge_meaning
from policies.language.meanings.rollouts import compile_rollouts, rollout_meaning, rollout_names
from policies.language.meanings.routes import route_abilities, route_meaning, route_names
from policies.language.meanings.shadows import shadow_meaning, shadow_names, shadow_prices
from policies.language.own_tests import Estimator, run_test
from policies.language.parse import parse
from policies.language.problem import Problem, Source
from policies.language.secrets import secrets
from policies.language.solving import Calibrate, solve_routes
from policies.language.tree import Entries
from policies.policy import Policy


class Loaded(msgspec.Struct, frozen=True, kw_only=True):
    """`policy` is None exactly when there are problems. `untested` names the file's tests that need an estimator."""

    policy: Policy | None
    problems: tuple[Problem, ...] = ()
    untested: tuple[str, ...] = ()


def load_policy(
    text: str, *, name: str, calibrate: Calibrate, estimate: Estimator | None = None, weigh: Weigh = no_weights
) -> Loaded:
    """Read, check, compile and test a policy file. `name` is how problems call the file.

    `calibrate` gives the calibration sample of a difficulty artefact (raises OSError or ValueError); it is asked only
    when a route chooses by difficulty. `estimate` judges the texts of the file's own tests. `weigh` reads a file of weights
    that an escalation names (raises the same). Never raises for a bad file.
    """
    source = Source.of(name, text)
    found, problems = shape(source, text)
    if found is not None:
        problems = [*problems, *names(found)]
    if found is None or problems:
        return _refused(problems)
    problems = meaning(found)
    if problems:
        return _refused(problems)
    called = found.file.name or PurePath(name).stem
    policy = compiled(found, calibrate, weigh, name=called, digest=text_hash(text))
    if not isinstance(policy, Policy):
        return _refused(policy)
    loaded = _tested(found, policy, estimate)
    return loaded if loaded.policy is None else _with_arms(found, policy, loaded.untested, calibrate, weigh)


def shape(source: Source, text: str) -> tuple[Draft | None, list[Problem]]:
    """What can be read of the file, and all that is wrong with how it is written."""
    parsed = parse(source, text)
    if parsed.root is None:
        return None, list(parsed.problems)
    if not isinstance(parsed.root, Entries):
        told = "a policy is a map of keys and values; it begins with `policy: 1`"
        return None, [*parsed.problems, source.problem(parsed.root.at, told)]
    found, faults = draft(source, parsed.root)
    return found, [*parsed.problems, *nulls(source, parsed.root), *secrets(source, parsed.root), *faults]


def names(found: Draft) -> list[Problem]:
    """What is named and not declared."""
    return [
        *model_names(found),
        *route_names(found),
        *example_names(found),
        *escalation_names(found),
        *experiment_names(found),
        *rollout_names(found),
        *shadow_names(found),
        *budget_names(found),
    ]


def meaning(found: Draft) -> list[Problem]:
    """What makes no sense in a file whose shape and names are right. Models and routes are judged first: the rest stands on
    them."""
    return [*model_circles(found), *route_meaning(found), *example_meaning(found)] or [
        *escalation_meaning(found),
        *experiment_meaning(found),
        *rollout_meaning(found),
        *shadow_meaning(found),
        *budget_meaning(found),
    ]


def compiled(found: Draft, calibrate: Calibrate, weigh: Weigh, *, name: str, digest: str) -> Policy | list[Problem]:
    """The policy with its targets solved, without its experiments; or what is in the way."""
    models = compile_models(found.file)
    problems = [
        *model_meaning(found, models),
        *route_abilities(found, models),
        *shadow_prices(found, models),
        *hedge_meaning(found, models),
    ]
    if problems:
        return problems
    escalations, problems = compile_escalations(found, models, weigh)
    if problems:
        return problems
    choices, problems = solve_routes(found, models, calibrate)
    if problems:
        return problems
    return compile_policy(found.file, models, choices, escalations=escalations, name=name, digest=digest)


def _with_arms(found: Draft, policy: Policy, untested: tuple[str, ...], calibrate: Calibrate, weigh: Weigh) -> Loaded:
    """The policy with its experiments, each variant of which is a policy that has been checked alike."""
    experiments = (*compile_experiments(found.file), *compile_rollouts(found.file))
    arms: dict[str, Policy] = {}
    problems: list[Problem] = []
    named = arms_of(found, experiments)
    if len(named) > MOST:
        return _refused([too_many(found)])
    for arm in named:
        own = _arm(found, arm, policy, calibrate, weigh)
        if isinstance(own, Policy):
            arms[arm.name] = own
        else:
            problems.extend(in_arm(found, arm, own))
    if problems:
        return _refused(problems)
    return Loaded(policy=joined(_hashed(policy, arms), experiments, arms), untested=untested)


def _hashed(policy: Policy, arms: Mapping[str, Policy]) -> Policy:
    """By its weights as well, and by those of its variants."""
    plans = [plan for each in (policy, *arms.values()) for plan in each.escalations.values()]
    return msgspec.structs.replace(policy, hash=policy_hash(policy.hash, plans))


def _arm(found: Draft, arm: Arm, policy: Policy, calibrate: Calibrate, weigh: Weigh) -> Policy | list[Problem]:
    own, problems = rewritten(found, arm)
    if own is None or problems:
        return problems
    return names(own) or meaning(own) or compiled(own, calibrate, weigh, name=policy.name, digest=policy.hash)


def _tested(found: Draft, policy: Policy, estimate: Estimator | None) -> Loaded:
    problems: list[Problem] = []
    untested: list[str] = []
    for i, test in enumerate(found.file.tests):
        verdict = run_test(policy, test, estimate)
        if verdict.untested:
            untested.append(test.name or f"test {i + 1}")
        if verdict.failed:
            problems.append(found.at_key(("tests", i, "expect"), f"fails: {verdict.failed}"))
    return _refused(problems) if problems else Loaded(policy=policy, untested=tuple(untested))


def _refused(problems: Iterable[Problem]) -> Loaded:
    """Problems in the order of the file, each place and message once."""
    unique = sorted(set(problems), key=lambda problem: (problem.line, problem.column, problem.message))
    return Loaded(policy=None, problems=tuple(unique))
