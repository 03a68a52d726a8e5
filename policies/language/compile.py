"""From the file's values to what deciding uses: models, matchers as closures, routes."""

from collections.abc import Mapping, Sequence
from hashlib import sha256

from policies.catalogue import Dialect, Fits, Model, Price, Run, SecretRef, Speaks, Thinks
from policies.escalate.plan import Escalation
from policies.facts import Ability
from policies.language.budgeting import compile_budgets
from policies.language.hedging import compile_hedging
from policies.language.inherit import inherited
from policies.language.matchers import compile_when, headers_of
from policies.language.schema import PolicyFile
from policies.language.sections.models import ModelEntry, PriceEntry, RunEntry, SpeaksEntry
from policies.language.sections.routes import RouteEntry
from policies.language.shadowed import compile_shadows, shadow_headers
from policies.policy import Affinity, Choose, Difficulty, Policy, Resilience, Route

EVERYTHING: frozenset[Ability] = frozenset({"tools", "json_schema", "vision", "audio", "logprobs", "reasoning"})
"""What a server is taken to be able to do when the file is silent: it knows best, and says so itself."""

OUR_ENGINE: frozenset[Ability] = frozenset({"json_schema", "logprobs"})
"""What an engine in this process can do when the file is silent."""

NOT_IN: Mapping[Dialect, frozenset[Ability]] = {
    "openai_chat": frozenset(),
    "anthropic": frozenset({"audio", "logprobs", "embeddings"}),
}
"""What cannot be asked for in a dialect, whatever the server is."""


def text_hash(text: str) -> str:
    """16 hex digits that stand for this text.

    >>> text_hash("policy: 1")
    '4d4070c356bbdc42'
    """
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def compile_models(file: PolicyFile) -> dict[str, Model]:
    """The catalogue, every `like` resolved."""
    return {name: _model(name, inherited(file.models, name)) for name in file.models}


def compile_policy(
    file: PolicyFile,
    models: Mapping[str, Model],
    choices: Sequence[Choose | None],
    *,
    escalations: Mapping[str, Escalation],
    name: str,
    digest: str,
) -> Policy:
    """The policy. `choices` are the solved choices, one for each route."""
    routes = tuple(_route(file, i, choice) for i, choice in enumerate(choices))
    difficulty = Difficulty(file.difficulty.artefact, file.difficulty.within)
    return Policy(
        hash=digest,
        name=name,
        models=models,
        routes=routes,
        headers_read=headers_read(file),
        difficulty=difficulty if any(choices) else None,
        resilience=_resilience(file),
        affinity=Affinity(file.affinity.max_imbalance, file.affinity.spill_after, file.affinity.spread_after),
        may_move=file.conversations.may_move,
        stay_with=file.conversations.stay_with,
        remember_s=file.conversations.for_,
        id_from=tuple(file.conversations.id_from),
        escalations=escalations,
        shadows=compile_shadows(file.shadows, routes_of(file)),
        budgets=compile_budgets(file.budgets),
    )


def headers_read(file: PolicyFile) -> frozenset[str]:
    of_routes = [header for route in file.routes for header in headers_of(route.when)]
    return frozenset([*of_routes, *shadow_headers(file.shadows)])


def routes_of(file: PolicyFile) -> list[str]:
    """Names of its routes, in order."""
    return [route_name(route, i) for i, route in enumerate(file.routes)]


def route_name(route: RouteEntry, index: int) -> str:
    """The route's name; without one, what it is for or where it stands.

    >>> route_name(RouteEntry(use="small"), 0)
    'default'
    """
    if route.name is not None:
        return route.name
    return "default" if route.when is None else f"route-{index + 1}"


def _route(file: PolicyFile, index: int, choice: Choose | None) -> Route:
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


def _model(name: str, entry: ModelEntry) -> Model:
    silent = OUR_ENGINE if entry.run is not None else EVERYTHING - NOT_IN[entry.dialect]
    fits = entry.fits
    return Model(
        name=name,
        at=tuple(address.rstrip("/") for address in entry.at or ()),
        run=None if entry.run is None else _run(entry.run),
        key=None if entry.key is None else _secret(entry.key),
        serves=entry.serves or name,
        dialect=entry.dialect,
        speaks=_speaks(entry.speaks),
        worker=entry.worker or entry.replicas == "announced",
        found_by="" if entry.replicas == "listed" else entry.replicas,
        watch=entry.watch,
        events=entry.events,
        price=_price(entry.price),
        fits=Fits() if fits is None else Fits(fits.context, fits.output),
        can=silent if entry.can is None else frozenset(entry.can),
        thinking=entry.thinking or _thinks(entry),
        head=entry.head or name,
    )


def _thinks(entry: ModelEntry) -> Thinks:
    """Where the file does not say. A body in the dialect of a server of Messages goes on as it came."""
    if entry.run is not None or entry.worker or entry.replicas == "announced":
        return "drop"
    if entry.dialect == "anthropic" or entry.can is None:
        return "pass"
    return "tell" if "reasoning" in entry.can else "drop"


def _speaks(entry: SpeaksEntry | None) -> Speaks:
    if entry is None:
        return Speaks()
    return Speaks(limit=entry.limit or "", developer=entry.developer, salt=entry.salt or "")


def _run(entry: RunEntry) -> Run:
    return Run(
        weights=entry.weights,
        precision=entry.precision,
        speculate=entry.speculate,
        max_draft=entry.max_draft,
        draft=entry.draft or "",
        draft_precision=entry.draft_precision,
        kv_tokens=entry.kv,
        kv_precision=entry.kv_precision,
        device=entry.device,
        graphs=entry.graphs,
        temperature=entry.sampling.temperature,
        top_p=entry.sampling.top_p,
        max_running=entry.max_running,
    )


def _secret(reference: str) -> SecretRef:
    kind, _, name = reference.partition(":")
    return SecretRef("env" if kind == "env" else "file", name)


def _price(entry: PriceEntry | None) -> Price:
    if entry is None:
        return Price()
    cached = entry.input if entry.cached_input is None else entry.cached_input
    return Price(entry.input, cached, entry.output, entry.cache_write)


def _resilience(file: PolicyFile) -> Resilience:
    limits = file.resilience
    return Resilience(
        attempts=limits.attempts,
        connect_s=limits.connect,
        first_content_s=limits.first_content,
        gap_s=limits.gap,
        total_s=limits.total,
        retry_uncertain=limits.retry_uncertain,
        hedge=compile_hedging(limits.hedge),
        retry_budget=None if limits.retry is None else limits.retry.budget,
    )
