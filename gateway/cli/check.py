"""`turnout check`: what is wrong with a policy file, and what it comes to where nothing is."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated

import typer

from gateway.cli.policy import amount_of, opened
from gateway.cli.terminal import fail, say, show_table
from gateway.live.build import lack_of
from gateway.settings import BadSettings, Settings, read_secret
from gateway.shadows.libraries import refuse_missing
from policies.budgets.plan import Budget
from policies.experiments.assign import shares
from policies.experiments.plan import Experiment, Step
from policies.language.schema import json_schema
from policies.policy import Choose, Policy
from policies.shadows.plan import Shadow


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
        for title, head, rows in tables(found.policy):
            if rows:
                show_table(title, head, rows)


def tables(policy: Policy) -> Iterator[tuple[str, Sequence[str], Sequence[Sequence[str]]]]:
    """What there is in the policy beside models and routes: title, head and rows."""
    targets = [_target_row(route.name, route.choose) for route in policy.routes if route.choose]
    yield "targets, as solved on the calibration sample", ("route", "target", "expected"), targets
    tried = [_experiment_row(experiment) for experiment in policy.experiments if not experiment.steps]
    yield "experiments", ("experiment", "unit", "part of its layer", "variants", "watched"), tried
    brought = [_rollout_row(experiment) for experiment in policy.experiments if experiment.steps]
    yield "rollouts", ("rollout", "unit", "steps", "watched"), brought
    shadows = [_shadow_row(shadow) for shadow in policy.shadows]
    yield "shadows", ("shadow", "of", "asks", "sample", "a day", "compares"), shadows
    budgets = [_budget_row(budget) for budget in policy.budgets]
    yield "budgets", ("budget", "limit", "for each", "when spent", "without the store"), budgets


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


def _rollout_row(rollout: Experiment) -> tuple[str, str, str, str]:
    steps = " > ".join(_step_word(step) for step in rollout.steps)
    return rollout.name, rollout.unit, steps, ", ".join(f"{rail.name} ({rail.act})" for rail in rollout.watch)
