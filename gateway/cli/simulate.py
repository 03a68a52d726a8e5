"""`turnout experiment simulate`: the tests that decide, tried out; and about how many units an experiment needs."""

from pathlib import Path
from typing import Annotated, Literal

import msgspec
import typer

from gateway.cli.policy import PolicyArgument
from gateway.cli.terminal import fail, show_json, show_table
from policies.experiments.plan import Experiment, Margin

BROKEN = 1
"""The exit code of `simulate` where a test stops more often than it may."""


def simulate(
    policy: Annotated[Path | None, typer.Argument(help="a policy: about how many units?", show_default=False)] = None,
    suite: Annotated[
        Literal["null", "power"] | None, typer.Option(help="null: false stops; power: how soon a difference is seen")
    ] = None,
    experiment: Annotated[str | None, typer.Option(help="which one of the policy (default: the first)")] = None,
    baseline: Annotated[float | None, typer.Option(help="control's value, such as 0.9")] = None,
    deviation: Annotated[
        float | None, typer.Option(help="standard deviation of a unit (default: a rate's own)")
    ] = None,
    effect: Annotated[str | None, typer.Option(help="5% or 1pp (default: the policy's smallest_effect)")] = None,
    runs: Annotated[int, typer.Option(min=10, help="runs of a suite")] = 500,
    seed: Annotated[int, typer.Option(help="of the random numbers")] = 7,
    length: Annotated[int, typer.Option(min=100, help="requests of a run of the null suite, each a look")] = 4_000,
    as_json: Annotated[bool, typer.Option("--json", help="print JSON instead of tables")] = False,
) -> None:
    """Try out the tests that decide, a look at every request; or say about how many units a policy's experiment needs.

    Exit code 1 when a test stops more often than it may, 2 when something is missing.
    """
    if suite == "null":
        nulls(runs, seed, length, as_json=as_json)
    elif suite == "power":
        power(runs, seed, as_json)
    elif policy is not None:
        planned(policy, experiment, baseline, deviation, effect, as_json=as_json)
    else:
        fail("name a policy file, or a suite with --suite")


def nulls(runs: int, seed: int, length: int, *, as_json: bool) -> None:
    from gateway.experiments.simulate import null_suite

    found = list(null_suite(runs, seed, length))
    holds = all(null.holds for null in found)
    if as_json:
        show_json({"suite": "null", "runs": runs, "seed": seed, "length": length, "holds": holds, "nulls": found})
    else:
        head = ("world", "test", "alpha", "false stops", "at least")
        rows = [(n.null, n.test, f"{n.alpha:g}", f"{n.false_stop_rate:.4f}", f"{n.at_least:.4f}") for n in found]
        show_table(f"{runs} runs each, a look at every request", head, rows)
    if not holds:
        raise typer.Exit(BROKEN)


def power(runs: int, seed: int, as_json: bool) -> None:
    from gateway.experiments.simulate import power_suite

    found = power_suite(runs, seed)
    if as_json:
        return show_json({"suite": "power", "seed": seed, **msgspec.to_builtins(found)})
    head = ("from", "to", "median requests", "asymptotic sequence", "times")
    numbers = (found.before, found.after, found.median_samples, found.median_asympcs, found.vs_asympcs)
    show_table(f"{runs} runs, a look at every request", head, [tuple(f"{number:g}" for number in numbers)])


def planned(
    place: PolicyArgument, name: str | None, baseline: float | None, deviation: float | None, effect: str | None, *,
    as_json: bool,
) -> None:  # fmt: skip
    from gateway.cli.policy import opened as read

    with read(place) as found:
        experiments = [one for one in found.policy.experiments if name in (None, one.name)]
    if not experiments:
        fail(f"{place} has no experiment {name or ''}".strip())
    plan = planned_for(experiments[0], baseline, deviation, effect)
    if as_json:
        return show_json({"experiment": experiments[0].name, "units": plan})
    for treatment, units in plan.items():
        told = "more units than there will ever be" if units is None else f"about {units:,} units of both together"
        print(f"{experiments[0].name}: {treatment} against {experiments[0].control} needs {told}")


def planned_for(
    experiment: Experiment, baseline: float | None, deviation: float | None, effect: str | None
) -> dict[str, int | None]:
    """By treatment. Raises typer.Exit where something is missing."""
    from policies.experiments.assign import shares
    from policies.experiments.power import units_needed
    from policies.experiments.trial import alpha_of

    metric = experiment.primary
    if metric is None or baseline is None:
        fail(f"{experiment.name}: state a primary metric in the policy, and control's value with --baseline")
    margin = effect_of(experiment, effect)
    spread = deviation or (baseline * (1 - baseline)) ** 0.5 if metric.kind == "binary" else deviation
    if not spread:
        fail(f"{metric.name} is no rate: state its standard deviation with --deviation")
    difference = baseline * (margin.times - 1) + margin.plus
    split, control = shares(experiment.weights), experiment.control
    return {
        treatment: units_needed(difference, spread, (split[treatment], split[control]), alpha_of(experiment))
        for treatment in experiment.treatments
    }


def effect_of(experiment: Experiment, stated: str | None) -> Margin:
    from policies.language.values.effects import effect

    if stated is None:
        if experiment.smallest_effect is None:
            fail(f"{experiment.name}: state the effect that matters with --effect, or smallest_effect in the policy")
        return experiment.smallest_effect
    try:
        return effect(stated)
    except ValueError as error:
        fail(f"--effect {error}")
