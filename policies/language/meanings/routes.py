"""`routes:` as deciding uses them, and what a file may say of them that makes no sense."""

from collections import Counter
from collections.abc import Iterator, Mapping

from policies.catalogue import Model
from policies.facts import AUTO
from policies.language.draft import Draft
from policies.language.faults import did_you_mean
from policies.language.meanings.conditions import HAS, compile_when, when_references
from policies.language.meanings.overlap import implies
from policies.language.problem import Problem
from policies.language.schema import PolicyFile
from policies.language.sections.routes import RouteEntry
from policies.language.tree import Path
from policies.policy import REQUESTED, Choose, Route


def route_name(route: RouteEntry, index: int) -> str:
    """The route's name; without one, what it is for or where it stands.

    >>> route_name(RouteEntry(use="small"), 0)
    'default'
    """
    if route.name is not None:
        return route.name
    return "default" if route.when is None else f"route-{index + 1}"


def routes_of(file: PolicyFile) -> list[str]:
    """Names of its routes, in order."""
    return [route_name(route, i) for i, route in enumerate(file.routes)]


def compile_route(file: PolicyFile, index: int, choice: Choose | None) -> Route:
    entry = file.routes[index]
    return Route(
        name=route_name(entry, index),
        matches=compile_when(entry.when),
        use=entry.use or "",
        choose=choice,
        fallback=None if entry.fallback is None else tuple(entry.fallback),
        escalate=entry.escalate or "",
        explore=entry.explore or 0.0,
    )


def route_names(draft: Draft) -> Iterator[Problem]:
    """Models that are named but not declared."""
    for i, route in enumerate(draft.file.routes):
        yield from _named(draft, ("routes", i), route)


def route_meaning(draft: Draft) -> Iterator[Problem]:
    """Routes that nothing reaches, and choices that cannot be made."""
    yield from _unreachable(draft)
    yield from _repeated(draft)
    for i, route in enumerate(draft.file.routes):
        yield from _pinning(draft, ("routes", i), route)
        yield from _choice(draft, ("routes", i, "choose"), route)
        if route.explore is not None and route.choose is None:
            yield draft.at_key(("routes", i, "explore"), "has no tiers to draw from; it stands beside choose")


def route_abilities(draft: Draft, models: Mapping[str, Model]) -> Iterator[Problem]:
    """Routes that ask of their models what none of them can do."""
    for i, route in enumerate(draft.file.routes):
        yield from _abilities(draft, i, route, models)


def _named(draft: Draft, here: Path, route: RouteEntry) -> Iterator[Problem]:
    if route.use is not None:
        yield from draft.undeclared((*here, "use"), route.use, [REQUESTED])
    for i, model in enumerate(route.fallback or ()):
        yield from draft.undeclared((*here, "fallback", i), model)
    yield from when_references(draft, (*here, "when"), route.when)
    if route.choose is not None:
        for i, model in enumerate(route.choose.among):
            yield from draft.undeclared((*here, "choose", "among", i), model)


def _unreachable(draft: Draft) -> Iterator[Problem]:
    """A route after one that takes all its requests. Routes that honour a name never meet those that do not."""
    routes = draft.file.routes
    for i, route in enumerate(routes):
        for j, before in enumerate(routes[:i]):
            if (before.use == REQUESTED) == (route.use == REQUESTED) and implies(route.when, before.when):
                taken = f"route {j + 1} ({route_name(before, j)}) takes all its requests"
                yield draft.at_key(("routes", i), f"can never match: {taken}; move it up or remove it")
                break


def _repeated(draft: Draft) -> Iterator[Problem]:
    """Names of routes are unique, and no list names a model twice."""
    seen: dict[str, int] = {}
    for i, route in enumerate(draft.file.routes):
        name = route_name(route, i)
        if name in seen:
            yield draft.at_key(("routes", i), f"is the name of route {seen[name] + 1} already; give it another")
        seen.setdefault(name, i)
        lists = (
            (("choose", "among"), route.choose.among if route.choose else ()),
            (("fallback",), route.fallback or ()),
        )
        for key, names in lists:
            for double in [name for name, count in Counter(names).items() if count > 1]:
                yield draft.at_value(("routes", i, *key), f"names {double} twice")


def _pinning(draft: Draft, here: Path, route: RouteEntry) -> Iterator[Problem]:
    """A name that the client states is always honoured: such requests meet `use: requested` and nothing else."""
    stated = route.when.model_is if route.when else None
    concrete = stated not in (None, AUTO)
    if route.use == REQUESTED and not concrete:
        yield draft.at_value((*here, "use"), "honours a name that the client states: add when: {model.is: concrete}")
    if route.use != REQUESTED and concrete:
        told = f"can never match: a model named by the client is always honoured; {stated} goes with use: requested"
        yield draft.at_value((*here, "when", "model.is"), told)


def _choice(draft: Draft, here: Path, route: RouteEntry) -> Iterator[Problem]:
    """The models beside the ladder must stand in it."""
    if route.choose is None:
        return
    among, target = route.choose.among, route.choose.target
    kind = "cost" if target.cost is not None else "quality"
    share = target.cost or target.quality
    if share is not None and share.of not in among:
        told = f"is measured against {share.of}, which is not in among{did_you_mean(share.of, among)}"
        yield draft.at_value((*here, "target", kind), told)
    floor = route.choose.floor
    if floor is not None and (target.cost is None or floor.quality.of != target.cost.of):
        told = "stands beside a cost target against the same model; a quality target is a floor itself"
        yield draft.at_key((*here, "floor"), told)
    if route.choose.when_unsure is not None and route.choose.when_unsure not in among:
        told = f"is {route.choose.when_unsure}, which is not in among{did_you_mean(route.choose.when_unsure, among)}"
        yield draft.at_value((*here, "when_unsure"), told)


def _abilities(draft: Draft, i: int, route: RouteEntry, models: Mapping[str, Model]) -> Iterator[Problem]:
    """What the condition says every request needs, at least one model of the route must be able to do."""
    if route.when is None or route.when.has is None or route.use == REQUESTED:
        return
    needs = frozenset(HAS[what] for what in route.when.has)
    asked = route.choose.among if route.choose else [route.use or ""]
    if not any(needs <= models[name].can for name in asked):
        lacks = ", ".join(f"{name} lacks {', '.join(sorted(needs - models[name].can))}" for name in asked)
        yield draft.at_value(("routes", i, "when", "has"), f"asks for what no model of the route can: {lacks}")
