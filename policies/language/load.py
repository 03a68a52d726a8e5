"""load_policy(): text in, a policy or all of its problems out. Reads nothing itself."""

from collections.abc import Iterable
from pathlib import PurePath

import msgspec

from policies.language import check
from policies.language.compile import compile_models, compile_policy, text_hash
from policies.language.draft import Draft, draft
from policies.language.escalating import (
    Weigh,
    compile_escalations,
    escalation_meaning,
    escalation_names,
    no_weights,
)
from policies.language.faults import nulls
from policies.language.own_tests import Estimator, run_test
from policies.language.parse import parse
from policies.language.problem import Problem, Source
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
        problems = [*problems, *check.references(found), *escalation_names(found)]
    if found is None or problems:
        return _refused(problems)
    problems = list(check.meaning(found))
    problems = problems or list(escalation_meaning(found))
    return _refused(problems) if problems else _compiled(found, text, calibrate, estimate, weigh)


def shape(source: Source, text: str) -> tuple[Draft | None, list[Problem]]:
    """What can be read of the file, and all that is wrong with how it is written."""
    parsed = parse(source, text)
    if parsed.root is None:
        return None, list(parsed.problems)
    if not isinstance(parsed.root, Entries):
        told = "a policy is a map of keys and values; it begins with `policy: 1`"
        return None, [*parsed.problems, source.problem(parsed.root.at, told)]
    found, faults = draft(source, parsed.root)
    return found, [*parsed.problems, *nulls(source, parsed.root), *check.secrets(source, parsed.root), *faults]


def _compiled(found: Draft, text: str, calibrate: Calibrate, estimate: Estimator | None, weigh: Weigh) -> Loaded:
    models = compile_models(found.file)
    problems = list(check.catalogue(found, models))
    if problems:
        return _refused(problems)
    escalations, problems = compile_escalations(found, models, weigh)
    if problems:
        return _refused(problems)
    choices, problems = solve_routes(found, models, calibrate)
    if problems:
        return _refused(problems)
    called = found.file.name or PurePath(found.source.name).stem
    policy = compile_policy(found.file, models, choices, escalations=escalations, name=called, digest=text_hash(text))
    return _tested(found, policy, estimate)


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
