"""`experiments:` and `guardrails:` as deciding uses them, and what a file may say of them that makes no sense."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import combinations

from policies.experiments.metrics import NAMES, metric_of
from policies.experiments.plan import Experiment, Guardrail, Margin, Metric, Variant
from policies.language.compile import text_hash
from policies.language.draft import Draft
from policies.language.faults import did_you_mean
from policies.language.meanings.routes import route_name
from policies.language.overrides import overlap
from policies.language.problem import Problem
from policies.language.schema import PolicyFile
from policies.language.sections.experiments import ExperimentEntry
from policies.language.sections.rollouts import RolloutEntry
from policies.language.tree import Path
from policies.policy import REQUESTED

Tried = ExperimentEntry | RolloutEntry


def experiment_names(draft: Draft) -> Iterator[Problem]:
    """Routes, guardrails and metrics that are named but do not exist."""
    for name, guardrail in draft.file.guardrails.items():
        yield from _metric(draft, ("guardrails", name, "metric"), guardrail.metric)
    for i, entry in enumerate(draft.file.experiments):
        here: Path = ("experiments", i)
        yield from unknown_names(draft, here, entry)
        if entry.measure is not None:
            yield from _metric(draft, (*here, "measure", "primary", "metric"), entry.measure.primary.metric)
            for j, also in enumerate(entry.measure.also):
                yield from _metric(draft, (*here, "measure", "also", j), also)


def unknown_names(draft: Draft, here: Path, entry: Tried) -> Iterator[Problem]:
    """Routes and guardrails."""
    routes = [route_name(route, j) for j, route in enumerate(draft.file.routes)]
    for j, route in enumerate(entry.on or ()):
        if route not in routes:
            yield draft.at_value((*here, "on", j), f"names no route: {route}{did_you_mean(route, routes)}")
    for j, watched in enumerate(entry.watch):
        if watched not in draft.file.guardrails:
            known = list(draft.file.guardrails)
            told = f"names the guardrail {watched}, which is not declared{did_you_mean(watched, known)}"
            yield draft.at_value((*here, "watch", j), told)


def _metric(draft: Draft, path: Path, name: str) -> Iterator[Problem]:
    if metric_of(name) is None:
        yield draft.at_value(path, f"is {name}, which is not measured here{did_you_mean(name, NAMES)}")


def experiment_meaning(draft: Draft) -> Iterator[Problem]:
    """Weights, layers, margins: what only a file whose names are right can be asked."""
    yield from _repeated(draft)
    for name, guardrail in draft.file.guardrails.items():
        yield from _margin(draft, ("guardrails", name, "worse_by"), guardrail.metric, guardrail.worse_by)
    for i, entry in enumerate(draft.file.experiments):
        yield from _variants(draft, ("experiments", i), entry)
        yield from _measures(draft, ("experiments", i), entry)
        yield from pinned_routes(draft, ("experiments", i), entry)
    yield from _layers(draft)
    yield from _same_places(draft)


def _repeated(draft: Draft) -> Iterator[Problem]:
    seen = Counter(entry.name for entry in draft.file.experiments)
    for i, entry in enumerate(draft.file.experiments):
        if seen[entry.name] > 1:
            yield draft.at_value(("experiments", i, "name"), "is the name of two experiments")


def _variants(draft: Draft, here: Path, entry: ExperimentEntry) -> Iterator[Problem]:
    if not any(variant.weight for variant in entry.variants.values()):
        yield draft.at_key((*here, "variants"), "have no weight at all")
    control = "control" if "control" in entry.variants else next(iter(entry.variants))
    if entry.variants[control].weight == 0:
        told = "is what the others are compared with, and has no weight"
        yield draft.at_value((*here, "variants", control, "weight"), told)
    for j, weights in enumerate(entry.before):
        if not weights or min(weights.values()) < 0 or not sum(weights.values()):
            yield draft.at_value((*here, "before", j), "has no weight at all, or one below 0")


def _measures(draft: Draft, here: Path, entry: ExperimentEntry) -> Iterator[Problem]:
    if entry.measure is None:
        return
    primary = entry.measure.primary
    metric = known_metric(primary.metric)
    for key, stated, known in (("kind", primary.kind, metric.kind), ("better", primary.better, metric.better)):
        if stated is not None and stated != known:
            yield draft.at_value((*here, "measure", "primary", key), f"is {stated}; {metric.name} is {known}")
    if primary.smallest_effect is not None:
        path: Path = (*here, "measure", "primary", "smallest_effect")
        yield from _margin(draft, path, primary.metric, primary.smallest_effect)


def _margin(draft: Draft, path: Path, name: str, margin: Margin) -> Iterator[Problem]:
    metric = known_metric(name)
    if margin.plus and metric.kind != "binary" and metric.source != "score":
        yield draft.at_value(
            path, f"is in points, and {name} is no rate; write percent of control's value, such as 20%"
        )


def pinned_routes(draft: Draft, here: Path, entry: Tried) -> Iterator[Problem]:
    """A model that a client names is honoured: there is nothing to try out."""
    names = {route_name(route, j): route for j, route in enumerate(draft.file.routes)}
    for j, name in enumerate(entry.on or ()):
        if names[name].use == REQUESTED:
            yield draft.at_value(
                (*here, "on", j), f"{name} honours a name that the client states; no variant can change that"
            )


def _layers(draft: Draft) -> Iterator[Problem]:
    """Experiments of a layer share its units: the same kind of unit, and parts that do not meet."""
    for (i, one), (j, other) in combinations(enumerate(draft.file.experiments), 2):
        if layer_of(one) != layer_of(other):
            continue
        if one.unit != other.unit:
            told = f"is {other.unit}, and {one.name} of the same layer has {one.unit}: a layer has one kind of unit"
            yield draft.at_value(("experiments", j, "unit"), told)
        (a, b), (c, d) = parts(draft.file)[i], parts(draft.file)[j]
        if max(a, c) < min(b, d):
            told = f"takes units of {one.name}, which is in the same layer: {_percent(a, b)} and {_percent(c, d)} meet"
            yield draft.at_value(("experiments", j, "traffic"), told)
    for i, (entry, (_, end)) in enumerate(zip(draft.file.experiments, parts(draft.file), strict=True)):
        if end > 1:
            told = (
                f"ends at {end:.0%} of layer {layer_of(entry)}: its experiments take more than all units; state traffic"
            )
            yield draft.at_key(("experiments", i), told)


def _percent(begins: float, ends: float) -> str:
    return f"{begins:.0%} to {ends:.0%}"


def _same_places(draft: Draft) -> Iterator[Problem]:
    """Experiments that one request can be in both must not change the same place."""
    for (_, one), (j, other) in combinations(enumerate(draft.file.experiments), 2):
        if layer_of(one) == layer_of(other) or not routes_of(draft.file, one) & routes_of(draft.file, other):
            continue
        for name, variant in other.variants.items():
            for path in variant.set_:
                if any(overlap(path, theirs) for own in one.variants.values() for theirs in own.set_):
                    told = f"is changed by {one.name} too, for the same requests; put both into one layer"
                    yield draft.at_key(("experiments", j, "variants", name, "set", path), told)


def layer_of(entry: ExperimentEntry) -> str:
    return entry.layer or f"of {entry.name}"


def routes_of(file: PolicyFile, entry: Tried) -> frozenset[str]:
    if entry.on is not None:
        return frozenset(entry.on)
    return frozenset(route_name(route, i) for i, route in enumerate(file.routes) if route.use != REQUESTED)


def parts(file: PolicyFile) -> list[tuple[float, float]]:
    """Of each experiment the part of its layer. Those that state only how much follow those before them."""
    taken: dict[str, float] = {}
    found: list[tuple[float, float]] = []
    for entry in file.experiments:
        begins, size = entry.traffic
        layer = layer_of(entry)
        start = taken.get(layer, 0.0) if begins is None else begins
        end = round(start + size, 9) if begins is None else size
        taken[layer] = max(taken.get(layer, 0.0), end)
        found.append((start, end))
    return found


def known_metric(name: str) -> Metric:
    found = metric_of(name)
    assert found is not None
    return found


def compile_experiments(file: PolicyFile) -> tuple[Experiment, ...]:
    """The experiments of a file that makes sense."""
    guardrails = compile_guardrails(file)
    ends = parts(file)
    return tuple([_experiment(file, entry, ends[i], guardrails) for i, entry in enumerate(file.experiments)])


def compile_guardrails(file: PolicyFile) -> Mapping[str, Guardrail]:
    return {
        name: Guardrail(
            name=name,
            metric=known_metric(entry.metric),
            margin=worse(known_metric(entry.metric), entry.worse_by),
            alpha=entry.alpha,
            act=entry.act,
        )
        for name, entry in file.guardrails.items()
    }


def worse(metric: Metric, by: Margin) -> Margin:
    """The margin as the tests take it: of a value of which more is worse. What should be high is turned round.

    >>> worse(metric_of("task_success"), Margin(times=1.1))
    Margin(times=0.9, plus=0.1)
    """
    if metric.better == "down" or by.plus:
        return by
    left = round(2 - by.times, 9)
    return Margin(left, round(1 - left, 9) if metric.kind == "binary" else 0.0)


def stands_for(sets: Mapping[str, object]) -> str:
    """A digest of what a variant changes; "" of nothing."""
    return text_hash(json.dumps(sets, sort_keys=True)) if sets else ""


def _experiment(
    file: PolicyFile, entry: ExperimentEntry, part: tuple[float, float], guardrails: Mapping[str, Guardrail]
) -> Experiment:
    measure = entry.measure
    return Experiment(
        name=entry.name,
        unit=entry.unit,
        layer=layer_of(entry),
        salt=entry.salt,
        variants=tuple([Variant(name, of.weight, stands_for(of.set_)) for name, of in entry.variants.items()]),
        routes=routes_of(file, entry),
        starts=part[0],
        ends=part[1],
        before=tuple(entry.before),
        primary=None if measure is None else known_metric(measure.primary.metric),
        also=() if measure is None else tuple([known_metric(name) for name in measure.also]),
        smallest_effect=None if measure is None else measure.primary.smallest_effect,
        adjust_by=() if measure is None else tuple(measure.adjust_by),
        alpha=entry.decide.alpha,
        at_most_s=entry.decide.at_most,
        then=entry.decide.then,
        watch=tuple([guardrails[name] for name in entry.watch]),
        sample_ratio_alpha=entry.health.sample_ratio,
    )
