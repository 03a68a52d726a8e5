"""`models:` what can answer: where it stands, what it costs, what fits in, and how it runs in this process."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from policies.catalogue import Device, Dialect, Drafter, KvPrecision, Precision, Thinks, Watch
from policies.facts import Ability
from policies.language.closed import Closed
from policies.language.fields import Addresses, SecretText, TokenPrice, Tokens


class PriceEntry(Closed):
    """What tokens cost."""

    input: TokenPrice = Field(description="Prompt tokens.", examples=["$0.05/M"])
    cached_input: TokenPrice | None = Field(
        default=None, description="Prompt tokens that are resident; as `input` when not stated.", examples=["$0.01/M"]
    )
    cache_write: TokenPrice | None = Field(
        default=None,
        description="Prompt tokens that a server writes to its cache; as `input` when not stated.",
        examples=["$0.06/M"],
    )
    output: TokenPrice = Field(description="Generated tokens.", examples=["$0.20/M"])


class FitsEntry(Closed):
    """What fits in."""

    context: Tokens | None = Field(default=None, description="Prompt and output together.", examples=["32k"])
    output: Tokens | None = Field(default=None, description="Output alone.", examples=["8k"])


class SamplingEntry(Closed):
    """How tokens are drawn for a request that does not say."""

    temperature: float = Field(default=1.0, ge=0, le=2, description="0 is greedy.", examples=[0.2])
    top_p: float = Field(default=1.0, gt=0, le=1, description="Nucleus.", examples=[0.9])


class RunEntry(Closed):
    """An engine in this process."""

    weights: str = Field(
        min_length=1, description="A pulled name, a directory or a GGUF file.", examples=["smollm2-135m-instruct"]
    )
    precision: Precision | None = Field(
        default=None,
        description="How weights are held; when not stated as their files hold them, plain ones in bfloat16.",
        examples=["int8"],
    )
    speculate: Drafter = Field(
        default="off", description="Where drafts come from; output stays the same.", examples=["ngram"]
    )
    max_draft: int = Field(
        default=8, ge=1, le=16, description="Tokens drafted at most in a step; fewer where fewer pay.", examples=[8]
    )
    draft: str | None = Field(
        default=None, min_length=1, description="With `speculate: draft`, weights with the same tokenizer that guess; "
        "when not stated the model's own, at `draft_precision`.",
        examples=["qwen3-0.6b"],
    )  # fmt: skip
    draft_precision: Precision | None = Field(
        default=None,
        description="How the draft's weights are held; when not stated as their files hold them, plain ones in int4.",
        examples=["int8"],
    )
    kv: Tokens = Field(
        default="32Ki",
        validate_default=True,
        ge=16,
        description="Tokens that the key-value cache holds.",
        examples=["32k"],
    )
    kv_precision: KvPrecision = Field(
        default="native",
        description="How keys and values are held: `int8` in half the bytes, `native` as `precision` brings along.",
        examples=["int8"],
    )
    device: Device = Field(
        default="auto",
        description="Where it runs: `auto` is CUDA where torch can use it, else the CPU.",
        examples=["cpu"],
    )
    graphs: bool = Field(
        default=False, description="On CUDA: decoding as captured graphs, one launch a step.", examples=[True]
    )
    sampling: SamplingEntry = Field(
        default=SamplingEntry(), description="How it is sampled where a request leaves it open."
    )
    max_running: int = Field(default=64, ge=1, le=4096, description="Sequences in a batch at most.", examples=[64])

    @model_validator(mode="after")
    def _drafts(self) -> Self:
        if self.speculate != "draft" and self.model_fields_set & {"draft", "draft_precision"}:
            raise PydanticCustomError("no_draft", "names a draft, which only `speculate: draft` uses")
        return self

    @model_validator(mode="after")
    def _graphs(self) -> Self:
        if self.graphs and self.device == "cpu":
            raise PydanticCustomError("no_graphs", "asks for CUDA graphs with `device: cpu`")
        return self


class SpeaksEntry(Closed):
    """What this server wants otherwise than clients say it."""

    limit: Literal["max_tokens", "max_completion_tokens"] | None = Field(
        default=None,
        description="Its name for the output limit; when not stated the one that the client used.",
        examples=["max_tokens"],
    )
    developer: Literal["developer", "system"] = Field(
        default="developer", description="The role of what a developer says.", examples=["system"]
    )
    salt: Literal["cache_salt"] | None = Field(
        default=None,
        description="Its field that keeps caches apart (vLLM, SGLang): each tenant has a cache of its own there.",
        examples=["cache_salt"],
    )


class ModelEntry(Closed):
    """Facts about one model."""

    at: Addresses | None = Field(
        default=None, description="Base address of a server; a list means replicas of the same model.",
        examples=["http://127.0.0.1:9001/v1"],
    )  # fmt: skip
    run: RunEntry | None = Field(default=None, description="Run it in this process instead.")
    worker: bool = Field(
        default=False, description="The servers at `at` are `turnout worker`s: their own word on load and blocks is heard.",
        examples=[True],
    )  # fmt: skip
    dialect: Dialect = Field(
        default="openai_chat", description="The wire format of its server; `anthropic` is Anthropic's Messages.",
        examples=["anthropic"],
    )  # fmt: skip
    replicas: Literal["listed", "dns", "announced"] = Field(
        default="listed",
        description="`dns`: every address behind the names in `at` is a replica (a headless service). `announced`: no `at`; "
        "workers that announce themselves under what it `serves` are.",
        examples=["dns"],
    )
    watch: Watch = Field(
        default="off",
        description="What its servers are asked once a second: nothing, whether they list models, or their own metrics.",
        examples=["vllm"],
    )
    events: int | None = Field(
        default=None,
        ge=1,
        le=65_535,
        description="With `watch: vllm`, the port at which its servers publish KV events (ZeroMQ); needs the extra "
        "vllm-events.",
        examples=[5557],
    )
    serves: str | None = Field(default=None, min_length=1, description="The name it has there.", examples=["qwen3-8b"])
    key: SecretText | None = Field(
        default=None, description="Where its API key stands, never the key itself.", examples=["env:LARGE_API_KEY"]
    )
    speaks: SpeaksEntry | None = Field(default=None, description="What its server wants otherwise than clients say it.")
    price: PriceEntry | None = Field(default=None, description="What it charges.")
    fits: FitsEntry | None = Field(default=None, description="Its window.")
    can: list[Ability] | None = Field(
        default=None,
        description="Its abilities. Not stated: all of a chat that its dialect has for `at`, json_schema and logprobs for "
        "`run`, which can be given tools where its chat template takes them.",
        examples=[["tools"]],
    )
    thinking: Thinks | None = Field(
        default=None,
        description="What becomes of a client's word on how much is to be thought (`reasoning_effort`, `thinking`). "
        "`tell`: its server is told, a number of tokens as the effort that comes nearest; `pass`: only what its dialect has "
        "the very words for; `drop`: nothing is told; `refuse`: it is not asked such things. Not stated: `drop` for `run`, "
        "`pass` for `dialect: anthropic`; else `tell` where `can` names reasoning, `drop` where it does not, `pass` "
        "without `can`.",
        examples=["drop"],
    )
    like: str | None = Field(
        default=None, description="Take every fact from this model, then change some.", examples=["large"]
    )
    head: str | None = Field(
        default=None, description="The head of the difficulty artefact that speaks for it; its own name when not stated.",
        examples=["small"],
    )  # fmt: skip

    @model_validator(mode="after")
    def _is_elsewhere(self) -> Self:
        if self.worker and self.run is not None:
            raise PydanticCustomError("no_worker", "is a `worker` only at an address; what runs here is heard anyway")
        return self
