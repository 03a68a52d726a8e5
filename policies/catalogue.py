"""Facts about models: where they are, what they cost, what fits in them, what they can do."""

from typing import Literal

import msgspec

from policies.facts import Ability

Device = Literal["auto", "cpu", "cuda"]
Precision = Literal["float32", "bfloat16", "int8", "int4"]
KvPrecision = Literal["native", "int8"]
"""Of keys and values: "native" is what the precision of the weights brings along."""
Drafter = Literal["off", "ngram", "draft"]

Watch = Literal["off", "ready", "vllm", "sglang", "llamacpp"]
"""What is asked of a server between requests: nothing, its list of models, or its own word on its load."""

FoundBy = Literal["", "dns", "announced"]
"""How replicas are found that are not listed."""


class Price(msgspec.Struct, frozen=True):
    """Micro-dollars per million tokens (so $0.05/M is 50_000). `cache_write` is of prompt tokens that a server keeps for later;
    None: as `input`."""

    input: int = 0
    cached_input: int = 0
    output: int = 0
    cache_write: int | None = None


class Fits(msgspec.Struct, frozen=True):
    """Window in tokens: `context` holds prompt and output together, `output` bounds the output alone."""

    context: int | None = None
    output: int | None = None


class SecretRef(msgspec.Struct, frozen=True):
    """Where a secret stands, never the secret: env:NAME or file:PATH."""

    kind: Literal["env", "file"]
    name: str


class Run(msgspec.Struct, frozen=True, kw_only=True):
    """How an engine in this process runs a model. `weights` and `draft` are pulled names, directories or GGUF files.

    `draft` is the model that drafts with `speculate` "draft"; empty, it is the same weights at `draft_precision`.
    `precision` None is what the weights are held in, else bfloat16; `draft_precision` alike, else int4.
    `temperature` and `top_p` hold for requests that state none. `graphs`: passes as CUDA graphs, on a CUDA device.
    """

    weights: str
    precision: Precision | None = None
    speculate: Drafter = "off"
    max_draft: int = 8
    draft: str = ""
    draft_precision: Precision | None = None
    kv_tokens: int = 32_768
    kv_precision: KvPrecision = "native"
    device: Device = "auto"
    graphs: bool = False
    max_running: int = 64
    temperature: float = 1.0
    top_p: float = 1.0


Thinks = Literal["tell", "pass", "drop", "refuse"]
"""What becomes of a client's word on how much is to be thought. "tell": the server is told, a number of tokens as the word that
comes nearest where it knows words alone; "pass": only what it has the very words for; "drop": nothing; "refuse": it is not
asked such things at all."""

Dialect = Literal["openai_chat", "anthropic"]
"""The wire format of a server."""


class Speaks(msgspec.Struct, frozen=True, kw_only=True):
    """What a server wants otherwise than clients say it: the name of the output limit ("" leaves the client's own), the
    role of what a developer says, and the field by which it keeps the caches of tenants apart ("" where it has none)."""

    limit: Literal["", "max_tokens", "max_completion_tokens"] = ""
    developer: Literal["developer", "system"] = "developer"
    salt: Literal["", "cache_salt"] = ""


class Model(msgspec.Struct, frozen=True, kw_only=True):
    """A named entry that can answer. Exactly one of `at` (replica base URLs) and `run` (an engine here) is set; neither where
    replicas announce themselves. `found_by` "dns": each address behind the names of `at` is a replica.
    `events` is the port at which its servers publish what they hold.

    `worker`: its replicas are workers of ours, which tell what they hold. `head` is the head of the difficulty artefact
    that speaks for this model.
    """

    name: str
    at: tuple[str, ...] = ()
    run: Run | None = None
    key: SecretRef | None = None
    serves: str = ""
    dialect: Dialect = "openai_chat"
    speaks: Speaks = Speaks()
    worker: bool = False
    found_by: FoundBy = ""
    watch: Watch = "off"
    events: int | None = None
    price: Price = Price()
    fits: Fits = Fits()
    can: frozenset[Ability] = frozenset()
    thinking: Thinks = "pass"
    head: str = ""

    @property
    def replicas(self) -> tuple[str, ...]:
        """Ids of the replicas: the base URLs, or one named after the model for an engine in this process. None where they
        are found; then a snapshot has them."""
        if self.found_by:
            return ()
        return self.at or (f"in-process:{self.name}",)
