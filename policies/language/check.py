"""Does a file that has the right shape make sense? Names, secrets, routes that nothing reaches, abilities."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from policies.catalogue import Model, Speaks
from policies.facts import AUTO
from policies.language.compile import route_name
from policies.language.dialect import spoken
from policies.language.draft import Draft
from policies.language.faults import did_you_mean
from policies.language.inherit import circle
from policies.language.matchers import HAS
from policies.language.overlap import implies
from policies.language.problem import Problem, Source, holds_secret
from policies.language.sections.conditions import When
from policies.language.sections.routes import RouteEntry
from policies.language.tree import Entries, Node, Path, Scalar
from policies.policy import REQUESTED


def secrets(source: Source, node: Node) -> Iterator[Problem]:
    """Values that look like credentials, wherever they stand."""
    if isinstance(node, Scalar):
        if isinstance(node.value, str) and holds_secret(node.value):
            yield source.problem(node.at, "this looks like a secret; a secret is never written here, use env:NAME")
        return
    # `key` has a message of its own, for whatever it holds.
    children = [e.node for e in node.entries if e.key != "key"] if isinstance(node, Entries) else node.items
    for child in children:
        yield from secrets(source, child)


def references(draft: Draft) -> Iterator[Problem]:
    """Names of models that are used but not declared."""
    for name, entry in draft.file.models.items():
        if entry.like is not None:
            yield from _known(draft, ("models", name, "like"), [entry.like])
    for i, route in enumerate(draft.file.routes):
        yield from _route_references(draft, ("routes", i), route)
    for i, test in enumerate(draft.file.tests):
        here: Path = ("tests", i)
        if test.given.model not in (None, AUTO):
            yield from _known(draft, (*here, "given", "model"), [test.given.model or ""], [AUTO])
        yield from _known(draft, (*here, "given", "down"), test.given.down or ())
        if test.given.escalated_to is not None:
            yield from _known(draft, (*here, "given", "escalated_to"), [test.given.escalated_to])
        yield from _known(draft, (*here, "expect", "model"), [test.expect.model] if test.expect.model else ())
        yield from _known(draft, (*here, "expect", "model.in"), test.expect.model_in or ())


def meaning(draft: Draft) -> Iterator[Problem]:
    """What only a file without faults of shape and name can be asked. Every `like` chain is judged first."""
    circles = list(_circles(draft))
    yield from circles
    yield from _unreachable(draft)
    yield from _repeated(draft)
    for i, route in enumerate(draft.file.routes):
        yield from _pinning(draft, ("routes", i), route)
        yield from _choice(draft, ("routes", i, "choose"), route)
        if route.explore is not None and route.choose is None:
            yield draft.at_key(("routes", i, "explore"), "has no tiers to draw from; it stands beside choose")
    yield from _expected_routes(draft)


def catalogue(draft: Draft, models: Mapping[str, Model]) -> Iterator[Problem]:
    """Models that cannot be: neither or both of `at` and `run`; routes that ask of a model what it cannot do."""
    for name, model in models.items():
        if model.found_by or model.watch != "off" or model.events is not None:
            yield from _elsewhere(draft, name, model)
        if model.found_by != "announced" and bool(model.at) == (model.run is not None):
            yield draft.at_key(("models", name), "needs exactly one of at and run")
        if len(set(model.at)) < len(model.at):
            yield draft.at_key(("models", name, "at"), "names an address twice")
        if model.run is not None and model.key is not None:
            yield draft.at_key(("models", name, "key"), "has no use: an engine in this process asks for no key")
        if model.speaks != Speaks() and (model.run is not None or model.worker):
            yield draft.at_key(("models", name, "speaks"), "has no use: our own engine understands all of it")
        if model.thinking in ("tell", "pass") and (model.run is not None or model.worker):
            yield draft.at_key(
                ("models", name, "thinking"), "is drop or refuse here: our own engine heeds no such word"
            )
        yield from spoken(draft, name, model)
        if "embeddings" in model.can and (model.run is not None or model.worker):
            yield draft.at_key(("models", name, "can"), "has embeddings, which our own engine cannot do")
    for i, route in enumerate(draft.file.routes):
        yield from _abilities(draft, i, route, models)


def _elsewhere(draft: Draft, name: str, model: Model) -> Iterator[Problem]:
    """What goes with replicas that are found, and with servers that are asked how they are."""
    here: Path = ("models", name)
    if model.found_by and model.run is not None:
        yield draft.at_key((*here, "replicas"), "has no use: an engine in this process is where it is")
    if model.found_by == "announced" and model.at:
        yield draft.at_key((*here, "at"), "has no use: its replicas announce themselves")
    if model.found_by == "dns" and any(not address.startswith("http://") for address in model.at):
        yield draft.at_key((*here, "at"), "needs http:// where names are resolved: no certificate is for an address")
    if model.events is not None and model.watch != "vllm":
        yield draft.at_key(
            (*here, "events"), "stands beside watch: vllm; other servers publish none that we understand"
        )
    if model.watch != "off" and (model.run is not None or model.worker):
        yield draft.at_key((*here, "watch"), "has no use: our own engine tells by itself")


def _route_references(draft: Draft, here: Path, route: RouteEntry) -> Iterator[Problem]:
    if route.use is not None:
        yield from _known(draft, (*here, "use"), [route.use], [REQUESTED])
    yield from _known(draft, (*here, "fallback"), route.fallback or ())
    yield from when_references(draft, (*here, "when"), route.when)
    if route.choose is not None:
        yield from _known(draft, (*here, "choose", "among"), route.choose.among)


def when_references(draft: Draft, here: Path, when: When | None) -> Iterator[Problem]:
    if when is None:
        return
    if when.model_is is not None:
        yield from _known(draft, (*here, "model.is"), [when.model_is], ["concrete", AUTO])
    for i, option in enumerate(when.any_of or ()):
        yield from when_references(draft, (*here, "any", i), option)
    yield from when_references(draft, (*here, "not"), when.not_)


def _known(draft: Draft, path: Path, used: Iterable[str], also: Sequence[str] = ()) -> Iterator[Problem]:
    """Each used name that is neither a model nor one of the words that may stand here as well."""
    for i, name in enumerate(used):
        if name not in draft.names and name not in also:
            hint = did_you_mean(name, [*draft.names, *also])
            yield draft.at_value((*path, i), f"names the model {name}, which is not declared{hint}")


def _circles(draft: Draft) -> Iterator[Problem]:
    for name in draft.file.models:
        chain = circle(draft.file.models, name)
        if chain:
            yield draft.at_value(("models", name, "like"), f"goes in a circle: {chain}")


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


def _unreachable(draft: Draft) -> Iterator[Problem]:
    """A route after one that takes all its requests. Routes that honour a name never meet those that do not."""
    routes = draft.file.routes
    for i, route in enumerate(routes):
        for j, before in enumerate(routes[:i]):
            if (before.use == REQUESTED) == (route.use == REQUESTED) and implies(route.when, before.when):
                taken = f"route {j + 1} ({route_name(before, j)}) takes all its requests"
                yield draft.at_key(("routes", i), f"can never match: {taken}; move it up or remove it")
                break


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


def _expected_routes(draft: Draft) -> Iterator[Problem]:
    names = [route_name(route, i) for i, route in enumerate(draft.file.routes)]
    for i, test in enumerate(draft.file.tests):
        route = test.expect.route
        if route is not None and route not in (*names, "pinned"):
            yield draft.at_value(("tests", i, "expect", "route"), f"names no route{did_you_mean(route, names)}")


def _abilities(draft: Draft, i: int, route: RouteEntry, models: Mapping[str, Model]) -> Iterator[Problem]:
    """What the condition says every request needs, at least one model of the route must be able to do."""
    if route.when is None or route.when.has is None or route.use == REQUESTED:
        return
    needs = frozenset(HAS[what] for what in route.when.has)
    asked = route.choose.among if route.choose else [route.use or ""]
    if not any(needs <= models[name].can for name in asked):
        lacks = ", ".join(f"{name} lacks {', '.join(sorted(needs - models[name].can))}" for name in asked)
        yield draft.at_value(("routes", i, "when", "has"), f"asks for what no model of the route can: {lacks}")
