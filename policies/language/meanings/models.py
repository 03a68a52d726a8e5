"""`models:` as deciding uses them, and what a file may say of them that makes no sense."""

from collections.abc import Iterator, Mapping

from policies.catalogue import Dialect, Fits, Model, Price, Run, SecretRef, Speaks, Thinks
from policies.facts import Ability
from policies.language.draft import Draft
from policies.language.meanings.inherit import circle, inherited
from policies.language.problem import Problem
from policies.language.schema import PolicyFile
from policies.language.sections.models import ModelEntry, PriceEntry, RunEntry, SpeaksEntry
from policies.language.tree import Path

EVERYTHING: frozenset[Ability] = frozenset({"tools", "json_schema", "vision", "audio", "logprobs", "reasoning"})
"""What a server is taken to be able to do when the file is silent: it knows best, and says so itself."""

OUR_ENGINE: frozenset[Ability] = frozenset({"json_schema", "logprobs"})
"""What an engine in this process can do when the file is silent."""

NOT_IN: Mapping[Dialect, frozenset[Ability]] = {
    "openai_chat": frozenset(),
    "anthropic": frozenset({"audio", "logprobs", "embeddings"}),
}
"""What cannot be asked for in a dialect, whatever the server is."""


def compile_models(file: PolicyFile) -> dict[str, Model]:
    """The catalogue, every `like` resolved."""
    return {name: _model(name, inherited(file.models, name)) for name in file.models}


def model_names(draft: Draft) -> Iterator[Problem]:
    """Models that are named by `like` but not declared."""
    for name, entry in draft.file.models.items():
        if entry.like is not None:
            yield from draft.undeclared(("models", name, "like"), entry.like)


def model_circles(draft: Draft) -> Iterator[Problem]:
    """Chains of `like` that never end."""
    for name in draft.file.models:
        chain = circle(draft.file.models, name)
        if chain:
            yield draft.at_value(("models", name, "like"), f"goes in a circle: {chain}")


def model_meaning(draft: Draft, models: Mapping[str, Model]) -> Iterator[Problem]:
    """Models that cannot be: neither or both of `at` and `run`, and facts that do not go with where they run."""
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
        yield from _spoken(draft, name, model)
        if "embeddings" in model.can and (model.run is not None or model.worker):
            yield draft.at_key(("models", name, "can"), "has embeddings, which our own engine cannot do")


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


def _spoken(draft: Draft, name: str, model: Model) -> Iterator[Problem]:
    """Problems of a model whose dialect is stated."""
    here: Path = ("models", name)
    if model.dialect == "openai_chat":
        return
    if model.run is not None or model.worker:
        yield draft.at_key((*here, "dialect"), "has no use: our own engine is asked in openai_chat")
        return
    if model.speaks != Speaks():
        told = f"has no use: it is for servers of openai_chat, and this one's is {model.dialect}"
        yield draft.at_key((*here, "speaks"), told)
    if lacks := sorted(model.can & NOT_IN[model.dialect]):
        told = f"has {', '.join(lacks)}, which cannot be asked for in the dialect {model.dialect}"
        yield draft.at_key((*here, "can"), told)
    if model.fits.output is None:
        told = f"needs fits: {{output: ...}}: in {model.dialect} every request has a limit, also where its client states none"
        yield draft.at_key(here, told)


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
