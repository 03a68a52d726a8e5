"""`shadows:` as the gateway uses them, and what a file may say of them that makes no sense."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence

from policies.catalogue import Model, Price
from policies.language.draft import Draft
from policies.language.faults import did_you_mean
from policies.language.meanings.conditions import compile_when, headers_of, when_references
from policies.language.meanings.routes import routes_of
from policies.language.problem import Problem
from policies.language.schema import PolicyFile
from policies.language.sections.shadows import JudgeEntry, ShadowEntry
from policies.language.tree import Path
from policies.shadows.plan import Judge, Limits, Shadow, never

FREE = Price()


def shadow_headers(entries: Sequence[ShadowEntry]) -> Iterator[str]:
    """Names of the headers that say who is left out."""
    for entry in entries:
        yield from headers_of(entry.never_when)


def compile_shadows(entries: Sequence[ShadowEntry], routes: Collection[str]) -> tuple[Shadow, ...]:
    """The shadows of a file that makes sense and has these routes."""
    return tuple([_shadow(entry, frozenset(routes)) for entry in entries])


def judges_of(entry: ShadowEntry) -> list[JudgeEntry]:
    return [rung for rung in entry.compare if isinstance(rung, JudgeEntry)]


def _shadow(entry: ShadowEntry, routes: frozenset[str]) -> Shadow:
    limits = entry.limits
    return Shadow(
        name=entry.name,
        to=entry.to,
        routes=frozenset(entry.of) & routes,
        models=frozenset(entry.of) - routes,
        sample=entry.sample,
        leaves_out=never if entry.never_when is None else compile_when(entry.never_when),
        compare=tuple(dict.fromkeys([rung for rung in entry.compare if not isinstance(rung, JudgeEntry)])),
        judge=next((Judge(rung.judge, rung.of) for rung in judges_of(entry)), None),
        answer_twice=0.0 if entry.noise_floor is None else entry.noise_floor.answer_twice,
        limits=Limits(
            microusd_per_day=limits.cost,
            in_flight=limits.in_flight,
            queue=limits.queue,
            deadline_s=limits.deadline,
        ),
    )


def shadow_names(draft: Draft) -> Iterator[Problem]:
    """Routes and models that are named but do not exist."""
    routes = routes_of(draft.file)
    for i, entry in enumerate(draft.file.shadows):
        here: Path = ("shadows", i)
        yield from when_references(draft, (*here, "never_when"), entry.never_when)
        yield from draft.undeclared((*here, "to"), entry.to)
        for judge in [judge for judge in judges_of(entry) if judge.judge not in draft.names]:
            told = f"names the judge {judge.judge}, which is no model here{did_you_mean(judge.judge, draft.names)}"
            yield draft.at_key((*here, "compare"), told)
        for j, of in enumerate(entry.of):
            if of not in routes and of not in draft.names:
                hint = did_you_mean(of, [*routes, *draft.names])
                yield draft.at_value((*here, "of", j), f"names no route and no model: {of}{hint}")
            elif of in routes and of in draft.names:
                yield draft.at_value((*here, "of", j), f"is {of}, which is a route and a model; rename the route")


def shadow_meaning(draft: Draft) -> Iterator[Problem]:
    seen = Counter(entry.name for entry in draft.file.shadows)
    for i, entry in enumerate(draft.file.shadows):
        here: Path = ("shadows", i)
        if seen[entry.name] > 1:
            yield draft.at_value((*here, "name"), "is the name of two shadows")
        if entry.to in entry.of:
            told = "is compared with itself; noise_floor says how much a model differs from itself"
            yield draft.at_value((*here, "to"), told)
        yield from _judges(draft, here, entry)


def _judges(draft: Draft, here: Path, entry: ShadowEntry) -> Iterator[Problem]:
    judges = judges_of(entry)
    if len(judges) > 1:
        yield draft.at_key((*here, "compare"), "has two judges; one says enough, in both orders")
    for judge in judges:
        if judge.judge == entry.to or judge.judge in entry.of:
            told = f"has {judge.judge} judge its own answers; name another model"
            yield draft.at_key((*here, "compare"), told)


def shadow_prices(draft: Draft, models: Mapping[str, Model]) -> Iterator[Problem]:
    """Where something is charged there is a cap, and what one call charges at most is known; a judge keeps to a form."""
    for i, entry in enumerate(draft.file.shadows):
        judges = [judge.judge for judge in judges_of(entry)]
        here: Path = ("shadows", i)
        for name in [name for name in judges if "json_schema" not in models[name].can]:
            yield draft.at_key((*here, "compare"), f"has {name} judge, which must be able to write json_schema (can)")
        asked = asked_by(draft.file, entry)
        priced = [name for name in dict.fromkeys([*asked, *judges]) if models[name].price != FREE]
        if not priced:
            continue
        if entry.limits.cost is None:
            told = f"needs limits: {{cost: $5/day}} or another amount: {', '.join(priced)} has a price"
            yield draft.at_key(here, told)
        for name in [name for name in priced if models[name].fits.output is None and name in asked]:
            told = (
                f"asks {name}, of which it must be known what an answer costs at most: state its fits: {{output: 8k}}"
            )
            yield draft.at_key(here, told)


def asked_by(file: PolicyFile, entry: ShadowEntry) -> list[str]:
    """Models that the shadow may ask: its own, and those that answer where they are asked twice."""
    if entry.noise_floor is None:
        return [entry.to]
    of_routes = any(of in routes_of(file) for of in entry.of)
    return list(dict.fromkeys([entry.to, *(file.models if of_routes else entry.of)]))
