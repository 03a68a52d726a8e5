"""`turnout check | explain`: what is wrong with a policy file, and what it would do with a request."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gateway.cli.terminal import fail, say, show_table
from gateway.live.build import lack_of
from gateway.live.classifier import Classifiers, PolicyReader
from gateway.settings import BadSettings, Settings, read_secret
from gateway.shadows.libraries import refuse_missing
from gateway.wiring import read_policy
from policies.budgets.afford import of
from policies.budgets.plan import Budget
from policies.decide import decide
from policies.decision import Call, Decision, Reject
from policies.estimates import Estimate
from policies.experiments.assign import shares
from policies.experiments.plan import Experiment, Step
from policies.explain import Row, held_back, raced, told_by, unheeded
from policies.explain import explain as explain_rows
from policies.language.load import load_policy
from policies.language.own_tests import facts_of, turns_of, world
from policies.language.schema import json_schema
from policies.language.sections.examples import Given
from policies.policy import Choose, Policy
from policies.shadows.plan import Shadow
from policies.unsettled import unsettled

REFUSED = 1
"""The exit code of `explain` where the request would be turned away."""

PolicyArgument = Annotated[Path, typer.Argument(help="the policy file", show_default=False)]


@dataclass(frozen=True, slots=True)
class Opened:
    """A policy that has no problems, and the classifier that it was read with."""

    policy: Policy
    untested: tuple[str, ...]
    reader: PolicyReader


def check(
    policy: Annotated[Path | None, typer.Argument(help="the policy file", show_default=False)] = None,
    schema: Annotated[
        bool, typer.Option("--schema", help="print the JSON Schema of the policy file, for editors")
    ] = False,
) -> None:
    """Read a policy, solve its targets and run its own tests. Exit code 2 when anything is wrong."""
    if schema:
        return print(json.dumps(json_schema(), indent=2))
    if policy is None:
        fail("name a policy file, or ask for the schema with --schema")
    with opened(policy) as found:
        say(f"{policy}: good ({found.policy.name}, {found.policy.hash})")
        for lack in lacks(found.policy):
            say(f"not here: {lack}")
        for name in found.untested:
            say(f"not tested, since it needs the difficulty classifier: {name}")
        targets = [_target_row(route.name, route.choose) for route in found.policy.routes if route.choose]
        if targets:
            show_table("targets, as solved on the calibration sample", ("route", "target", "expected"), targets)
        tried = [_experiment_row(experiment) for experiment in found.policy.experiments if not experiment.steps]
        if tried:
            show_table("experiments", ("experiment", "unit", "part of its layer", "variants", "watched"), tried)
        brought = [_rollout_row(experiment) for experiment in found.policy.experiments if experiment.steps]
        if brought:
            show_table("rollouts", ("rollout", "unit", "steps", "watched"), brought)
        if found.policy.shadows:
            head = ("shadow", "of", "asks", "sample", "a day", "compares")
            show_table("shadows", head, [_shadow_row(shadow) for shadow in found.policy.shadows])
        if found.policy.budgets:
            columns = ("budget", "limit", "for each", "when spent", "without the store")
            show_table("budgets", columns, [_budget_row(budget) for budget in found.policy.budgets])


def explain(
    policy: PolicyArgument,
    text: Annotated[list[str], typer.Option("--text", help="what the user says; again for a later turn")],
    model: Annotated[str, typer.Option(help="the model that the client names")] = "auto",
    tenant: Annotated[str | None, typer.Option(help="who pays")] = None,
    plan: Annotated[str | None, typer.Option(help="what they bought")] = None,
    prompt_tokens: Annotated[int | None, typer.Option(help="length of the prompt (default: estimated)")] = None,
    tools: Annotated[int | None, typer.Option(help="number of tools")] = None,
    images: Annotated[int | None, typer.Option(help="number of images")] = None,
    stream: Annotated[bool, typer.Option("--stream", help="the answer is streamed")] = False,
    down: Annotated[list[str] | None, typer.Option(help="a model that cannot be reached; again for more")] = None,
    spent: Annotated[list[str] | None, typer.Option(help="a budget that has nothing left; again for more")] = None,
) -> None:
    """Decide on a request without sending it: the estimate, every candidate with its expected cost, and the reasons.

    Exit code 1 when nobody may answer, 2 when the policy has problems.
    """
    told = {"turns": text, "model": model, "tenant": tenant, "tenant.plan": plan, "prompt_tokens": prompt_tokens}
    told |= {"tools": tools, "images": images, "stream": stream, "down": down or None, "spent": spent or None}
    given = Given.model_validate({key: value for key, value in told.items() if value is not None})
    with opened(policy) as found:
        facts = facts_of(given)
        seen = msgspec.structs.replace(world(found.policy, given), now=time.time())
        estimate = found.reader.estimate(turns_of(given), lambda span: unsettled(found.policy, facts, span, seen))
        decision = decide(found.policy, facts, estimate, seen)
    _show(decision, estimate)
    if found.policy.budgets and isinstance(decision.choice, Call):
        use = of(found.policy, decision, facts)
        aside = [(budget.name, budget.told, amount_of(budget, use.of(budget))) for budget in found.policy.budgets]
        show_table("budgets", ("budget", "limit", "set aside"), aside)
    if isinstance(decision.choice, Reject):
        raise typer.Exit(REFUSED)


@contextmanager
def opened(path: Path) -> Iterator[Opened]:
    """The policy and its classifier, which is closed after the block; or the problems on stderr and exit code 2."""
    settings = Settings(policy=path)
    classifiers = Classifiers(settings.artefact, settings.embedder)
    try:
        reader = classifiers.reader()
        text = read_policy(path)
        loaded = load_policy(
            text, name=str(path), calibrate=reader.calibrate, estimate=reader.estimate, weigh=reader.weigh
        )
        if loaded.policy is None:
            fail("\n".join(problem.render() for problem in loaded.problems))
        yield Opened(loaded.policy, loaded.untested, reader)
    except BadSettings as error:
        fail(str(error))
    finally:
        asyncio.run(classifiers.aclose())


def lacks(policy: Policy) -> Iterator[str]:
    """What this machine lacks to serve the policy: keys that are not set, weights that are not pulled."""
    from backends.engine.store import WeightsMissing, resolve

    settings = Settings()
    try:
        refuse_missing(policy, settings.embedder)
    except BadSettings as error:
        yield str(error)
    cache = settings.cache_dir
    for model in policy.every_model:
        if model.key is not None and read_secret(model.key) is None:
            yield f"model {model.name}: {lack_of(model.key)}"
        if model.run is not None:
            try:
                resolve(model.run.weights, cache)
            except WeightsMissing as error:
                yield str(error)


def _target_row(route: str, choose: Choose) -> tuple[str, str, str]:
    expected = choose.expected
    shares = ", ".join(f"{share:.0%} to {model}" for model, share in expected.shares.items())
    come_to = f"cost {expected.cost_percent:.0f}%, quality {expected.quality_percent:.1f}% of {choose.target.of}"
    return route, str(choose.target), f"{come_to}; {shares}"


def _experiment_row(experiment: Experiment) -> tuple[str, str, str, str, str]:
    split = ", ".join(f"{name} {share:.1%}" for name, share in shares(experiment.weights).items())
    part = f"{experiment.starts:.0%} to {experiment.ends:.0%}"
    return experiment.name, experiment.unit, part, split, ", ".join(rail.name for rail in experiment.watch) or "nothing"


def _step_word(step: Step) -> str:
    if step.approve:
        return f"({step.approve})"
    return f"shadow {100 * step.shadow:g}%" if step.shadow else f"{100 * step.share:g}%"


def _shadow_row(shadow: Shadow) -> tuple[str, str, str, str, str, str]:
    cap = shadow.limits.microusd_per_day
    return (
        shadow.name,
        ", ".join(sorted(shadow.routes | shadow.models)),
        shadow.to,
        f"{100 * shadow.sample:g}%" + (f", {100 * shadow.answer_twice:g}% twice" if shadow.answer_twice else ""),
        "free" if cap is None else f"${cap / 1e6:g}",
        ", ".join([*shadow.compare, *([f"judge {shadow.judge.model}"] if shadow.judge is not None else [])]),
    )


def _budget_row(budget: Budget) -> tuple[str, str, str, str, str]:
    whose = "everybody" if budget.per == "all" else budget.per
    lesser = f"downgrade to {budget.downgrade_to}" if budget.downgrade_to else "reject"
    at_once = f", {amount_of(budget, budget.at_once)} at once" if budget.at_once != budget.limit else ""
    return budget.name, f"{budget.told}{at_once}", whose, lesser, budget.when_away


def amount_of(budget: Budget, amount: int) -> str:
    """In the budget's unit."""
    return dollars(amount) if budget.unit == "microusd" else f"{amount} tokens"


def _rollout_row(rollout: Experiment) -> tuple[str, str, str, str]:
    steps = " > ".join(_step_word(step) for step in rollout.steps)
    return rollout.name, rollout.unit, steps, ", ".join(f"{rail.name} ({rail.act})" for rail in rollout.watch)


def _show(decision: Decision, estimate: Estimate) -> None:
    if estimate.p_good:
        chances = ", ".join(f"{head} {p:.3f}" for head, p in estimate.p_good.items())
        say(f"estimate: P(good) {chances} (artefact {estimate.artefact})")
        if told := told_by(estimate):
            say(f"stage: {told}")
    else:
        say(f"no estimate: {estimate.abstains}")
    if decision.line is not None:
        say(f"line: a bad answer may cost {decision.line.loss:.3f} times what the target's model charges")
    rows = explain_rows(decision)
    show_table(
        f"candidates of route {decision.route}", ("model", "replica", "standing", "expected cost"), map(_standing, rows)
    )
    terms = [
        (row.model, row.replica, term.name, dollars(term.microusd), term.why) for row in rows for term in row.terms
    ]
    if terms:
        show_table("what the cost is made of", ("model", "replica", "term", "cost", "why"), terms)
    if held := held_back(decision):
        say(held)
    for told in (raced(decision), unheeded(decision)):
        if told:
            say(told)
    choice = decision.choice
    answer = f"refused: {choice.code}: {choice.message}" if isinstance(choice, Reject) else choice.model
    show_table(f"decision (policy {decision.policy_hash})", ("answers", "reason"), [(answer, decision.reason)])


def _standing(row: Row) -> tuple[str, str, str, str]:
    cost = row.why if row.microusd is None else dollars(row.microusd)
    return row.model, row.replica, row.standing, cost


def dollars(microusd: int) -> str:
    """Micro-dollars as dollars.

    >>> dollars(1_234)
    '$0.001234'
    """
    return f"${microusd / 1e6:.6f}"
