"""The policy file, declared once: validation, messages, the JSON Schema for editors and the reference page come from here."""

from typing import Any, Literal, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from policies.catalogue import Drafter, KvPrecision, Precision
from policies.facts import Ability
from policies.language.closed import Closed, WithHeaders
from policies.language.fields import (
    Addresses,
    Milliseconds,
    Name,
    Needs,
    Seconds,
    SecretText,
    ShareOf,
    Texts,
    Title,
    TokenPrice,
    Tokens,
)
from policies.policy import MayMove


class PriceEntry(Closed):
    """What tokens cost."""

    input: TokenPrice = Field(description="Prompt tokens.", examples=["$0.05/M"])
    cached_input: TokenPrice | None = Field(
        default=None, description="Prompt tokens that are resident; as `input` when not stated.", examples=["$0.01/M"]
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
    precision: Precision = Field(default="bfloat16", description="How weights are held.", examples=["int8"])
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
    draft_precision: Precision = Field(
        default="int4", description="How the draft's weights are held.", examples=["int8"]
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
    sampling: SamplingEntry = Field(
        default=SamplingEntry(), description="How it is sampled where a request leaves it open."
    )
    max_running: int = Field(default=64, ge=1, le=4096, description="Sequences in a batch at most.", examples=[64])

    @model_validator(mode="after")
    def _drafts(self) -> Self:
        if self.speculate != "draft" and self.model_fields_set & {"draft", "draft_precision"}:
            raise PydanticCustomError("no_draft", "names a draft, which only `speculate: draft` uses")
        return self


class ModelEntry(Closed):
    """Facts about one model."""

    at: Addresses | None = Field(
        default=None, description="Base address of an OpenAI-compatible server; a list means replicas of the same model.",
        examples=["http://127.0.0.1:9001/v1"],
    )  # fmt: skip
    run: RunEntry | None = Field(default=None, description="Run it in this process instead.")
    serves: str | None = Field(default=None, min_length=1, description="The name it has there.", examples=["qwen3-8b"])
    key: SecretText | None = Field(
        default=None, description="Where its API key stands, never the key itself.", examples=["env:LARGE_API_KEY"]
    )
    price: PriceEntry | None = Field(default=None, description="What it charges.")
    fits: FitsEntry | None = Field(default=None, description="Its window.")
    can: list[Ability] | None = Field(
        default=None,
        description="Its abilities. Not stated: all of them for `at`, json_schema and logprobs for `run`.",
        examples=[["tools"]],
    )
    like: str | None = Field(
        default=None, description="Take every fact from this model, then change some.", examples=["large"]
    )
    head: str | None = Field(
        default=None, description="The head of the difficulty artefact that speaks for it; its own name when not stated.",
        examples=["small"],
    )  # fmt: skip


class DifficultyEntry(Closed):
    """How difficulty is estimated."""

    artefact: str = Field(default="shipped", min_length=1, description="A trained artefact: a path, or `shipped`.")
    within: Milliseconds = Field(
        default="50ms",
        validate_default=True,
        description="Time an estimate may take; over it, `when_unsure` decides.",
        examples=["50ms"],
    )


class TokenRange(Closed):
    """Prompt length in tokens."""

    over: Tokens | None = Field(default=None, description="More than this.", examples=["8k"])
    under: Tokens | None = Field(default=None, description="Less than this.", examples=["32k"])

    @model_validator(mode="after")
    def _some(self) -> Self:
        if self.over is None and self.under is None:
            raise PydanticCustomError("empty_range", "needs over, under or both")
        if self.over is not None and self.under is not None and self.under <= self.over + 1:
            raise PydanticCustomError("empty_range", "no number is over the one and under the other")
        return self


class When(WithHeaders):
    """Conditions; all of them must hold."""

    model_is: str | None = Field(
        default=None, alias="model.is", description="`concrete`: named by the client. `auto`: to be routed. Or one name.",
        examples=["concrete"],
    )  # fmt: skip
    has: Needs | None = Field(
        default=None, description="What the request holds; a list means all of them.", examples=["tools"]
    )
    tenant: Texts | None = Field(default=None, description="Who pays; a list means any of them.", examples=["acme"])
    plan: Texts | None = Field(
        default=None, alias="tenant.plan", description="What they bought; a list means any of them.", examples=["gold"]
    )
    stream: bool | None = Field(default=None, description="Whether the answer is streamed.", examples=[True])
    prompt_tokens: TokenRange | None = Field(
        default=None, description="Length of the prompt.", examples=[{"over": "8k"}]
    )
    any_of: list["When"] | None = Field(
        default=None,
        alias="any",
        min_length=1,
        description="At least one of these holds.",
        examples=[[{"has": "tools"}]],
    )
    not_: "When | None" = Field(default=None, alias="not", description="These do not hold together.")


class TargetEntry(Closed):
    """What the mix of models shall come to; exactly one of the two."""

    exactly_one = ("cost", "quality")

    cost: ShareOf | None = Field(
        default=None, description="The best quality within this share of a model's cost.", examples=["40% of large"]
    )
    quality: ShareOf | None = Field(
        default=None,
        description="The least cost that keeps this share of a model's quality.",
        examples=["98% of large"],
    )


class ChooseEntry(Closed):
    """A choice by difficulty."""

    by: Literal["difficulty"] = Field(description="What decides.", examples=["difficulty"])
    among: list[str] = Field(min_length=2, description="The ladder, lowest tier first.", examples=[["small", "large"]])
    target: TargetEntry = Field(description="What the mix shall come to; thresholds are solved from it.")
    when_unsure: str | None = Field(
        default=None,
        description="Where to go without an estimate; the target's model when not stated.",
        examples=["large"],
    )


class RouteEntry(Closed):
    """A rule; the first that matches wins."""

    exactly_one = ("use", "choose")

    name: Name | None = Field(default=None, description="What headers, logs and tests call it.", examples=["default"])
    when: When | None = Field(default=None, description="Which requests; all when not stated.")
    use: str | None = Field(default=None, description="One model, or `requested`: the one named by the client.")
    choose: ChooseEntry | None = Field(default=None, description="One of several models.")
    fallback: list[str] | None = Field(
        default=None, description="Who is asked when the first one fails; the rest of `among` when not stated.",
        examples=[["large", "small"]],
    )  # fmt: skip


class ConversationsEntry(Closed):
    """Do not change voice under the user."""

    may_move: MayMove = Field(
        default="up", description="Whether a conversation may change tier: `up` never comes down again, `never` stays."
    )


class AffinityEntry(Closed):
    """Same prefix, same replica, while it is not overloaded."""

    max_imbalance: float = Field(
        default=1.1, ge=1.0, le=100.0, description="A replica above this multiple of the mean load is passed over ...",
        examples=[1.1],
    )  # fmt: skip
    spill_after: float = Field(
        default=4.0,
        ge=0.0,
        description="... if it has this many requests more than the least loaded one.",
        examples=[4],
    )


class ResilienceEntry(Closed):
    """How long to wait and how often to ask."""

    attempts: int = Field(default=3, ge=1, le=10, description="Attempts in all, the first included.", examples=[3])
    connect: Seconds = Field(default="5s", validate_default=True, description="Until connected.", examples=["5s"])
    first_content: Seconds = Field(
        default="2m", validate_default=True, description="Until the first content.", examples=["60s"]
    )
    gap: Seconds = Field(
        default="1m", validate_default=True, description="Between two events of a stream.", examples=["30s"]
    )
    total: Seconds = Field(default="10m", validate_default=True, description="Over all.", examples=["10m"])
    retry_uncertain: bool = Field(
        default=False,
        description="Ask again even when the first try may have been done (and billed).",
        examples=[False],
    )


class Given(WithHeaders):
    """A request in a few words."""

    text: str | None = Field(default=None, description="What the user asks.", examples=["hi there"])
    turns: list[str] | None = Field(
        default=None, min_length=1, description="The user's turns, oldest first, instead of `text`."
    )
    prompt_tokens: Tokens | None = Field(default=None, description="Length of the prompt.", examples=["90k"])
    tools: int | None = Field(default=None, ge=0, description="Number of tools.", examples=[3])
    images: int | None = Field(default=None, ge=0, description="Number of images.", examples=[1])
    stream: bool | None = Field(default=None, description="Whether the answer is streamed.", examples=[True])
    tenant: str | None = Field(default=None, description="Who pays.", examples=["acme"])
    plan: str | None = Field(default=None, alias="tenant.plan", description="What they bought.", examples=["gold"])
    model: str | None = Field(default=None, description="The model that the client names; auto when not stated.")
    down: list[str] | None = Field(
        default=None, description="Models of which no replica is ready.", examples=[["small"]]
    )


class Expect(Closed):
    """What deciding must come to."""

    model: str | None = Field(default=None, description="The model that is chosen.", examples=["small"])
    model_in: list[str] | None = Field(
        default=None, alias="model.in", min_length=1, description="One of these is chosen."
    )
    route: str | None = Field(default=None, description="The route that matches.", examples=["default"])

    @model_validator(mode="after")
    def _something(self) -> Self:
        if not self.model_fields_set:
            raise PydanticCustomError("expects_nothing", "expects nothing: needs model, model.in or route")
        return self


class TestEntry(Closed):
    """An example that must hold before the policy is loaded."""

    __test__ = False  # not a test case of pytest's

    name: Title | None = Field(default=None, description="What it shows.", examples=["greeting is cheap"])
    given: Given = Field(description="The request.")
    expect: Expect = Field(description="The decision.")


class PolicyFile(Closed):
    """A policy of Turnout: which models there are, and which one answers which request."""

    policy: Literal[1] = Field(description="Version of this format.", examples=[1])
    name: Title | None = Field(default=None, description="What this policy is called.", examples=["assistant-prod"])
    models: dict[Name, ModelEntry] = Field(min_length=1, description="What can answer, by name.")
    difficulty: DifficultyEntry = Field(
        default_factory=DifficultyEntry, description="How hard a request is, and how soon that must be known."
    )
    routes: list[RouteEntry] = Field(min_length=1, description="Which model, for which request; first match wins.")
    conversations: ConversationsEntry = Field(
        default_factory=ConversationsEntry, description="Changes within a conversation."
    )
    affinity: AffinityEntry = Field(default_factory=AffinityEntry, description="Prefixes and load.")
    resilience: ResilienceEntry = Field(default_factory=ResilienceEntry, description="Time limits and retries.")
    tests: list[TestEntry] = Field(default=[], description="Examples that must hold.")


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of the policy file, for editors.

    >>> json_schema()["title"]
    'PolicyFile'
    """
    schema = _without_nulls(PolicyFile.model_json_schema(by_alias=True))
    assert isinstance(schema, dict)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _without_nulls(node: object) -> object:
    """A key that is not stated is left out; the file has no nulls."""
    if isinstance(node, list):
        return [_without_nulls(item) for item in node]
    if not isinstance(node, dict):
        return node
    kept = {key: _without_nulls(value) for key, value in node.items() if not (key == "default" and value is None)}
    stated = kept.get("anyOf")
    options = [option for option in stated if option != {"type": "null"}] if isinstance(stated, list) else []
    if len(options) == 1:
        return {**options[0], **{key: value for key, value in kept.items() if key != "anyOf"}}
    return {**kept, "anyOf": options} if options else kept
