"""`experiments:` who gets which variant of the policy, what is measured, what decides."""

from typing import Annotated, Literal

from pydantic import Field, JsonValue, WithJsonSchema

from policies.experiments.plan import Better, Kind, Then, Unit
from policies.language.closed import Closed
from policies.language.fields import Name, Texts
from policies.language.values.effects import AlphaShare, LongSeconds, Part, WorseBy


class VariantEntry(Closed):
    """An arm of an experiment."""

    weight: float = Field(ge=0, le=1e6, description="Its share of the units, beside the other weights.", examples=[90])
    set_: Annotated[dict[str, JsonValue], WithJsonSchema({"type": "object"})] = Field(
        default={},
        alias="set",
        description="What it changes in this policy, by path; the whole is checked as a policy of its own.",
        examples=[{"models.medium.serves": "qwen3-32b-v2"}],
    )


class PrimaryEntry(Closed):
    """The metric that decides."""

    metric: str = Field(description="What is measured.", examples=["task_success"])
    kind: Kind | None = Field(default=None, description="What it is; known from the metric when not stated.")
    better: Better | None = Field(default=None, description="Which way is better; known from the metric as well.")
    smallest_effect: WorseBy | None = Field(
        default=None, description="The smallest difference that matters, for planning.", examples=["1pp"]
    )


class MeasureEntry(Closed):
    """What is measured of every variant."""

    primary: PrimaryEntry = Field(description="What decides.")
    also: list[str] = Field(
        default=[], description="What is shown as well.", examples=[["cost_per_request", "ttft.p95"]]
    )
    adjust_by: list[Literal["predicted_difficulty", "prompt_tokens"]] = Field(
        default=[],
        description="What is known before assignment and foretells outcomes: differences are seen sooner.",
        examples=[["predicted_difficulty"]],
    )


class DecideEntry(Closed):
    """When it is over."""

    method: Literal["anytime"] = Field(default="anytime", description="Valid at every look.")
    alpha: AlphaShare = Field(
        default="5%",
        validate_default=True,
        description="The chance of seeing a difference where none is.",
        examples=["5%"],
    )
    at_most: LongSeconds | None = Field(
        default=None, description="How long it may run; then everybody gets control.", examples=["14d"]
    )
    then: Then = Field(
        default="ask", description="`ask`: the verdict waits for a person. `promote`: everybody gets the winner."
    )


class HealthEntry(Closed):
    """Do variants get the units that they should?"""

    sample_ratio: AlphaShare = Field(
        default="0.1%", validate_default=True, description="The chance of a false alarm.", examples=["0.1%"]
    )
    on_fail: Literal["hold"] = Field(default="hold", description="No verdict is given any more.")


class ExperimentEntry(Closed):
    """A test of one or more variants of this policy beside control."""

    name: Name = Field(description="What headers, logs and commands call it.", examples=["medium-v2"])
    on: Texts | None = Field(default=None, description="The routes whose requests take part; all when not stated.")
    unit: Unit = Field(default="conversation", description="What keeps its variant.")
    layer: Name | None = Field(
        default=None,
        description="Experiments of one layer never share a unit; a layer of its own when not stated.",
        examples=["chat"],
    )
    traffic: Part = Field(
        default="100%",
        validate_default=True,
        description="The part of the layer's units that takes part, after those of the experiments before it; or from where to "
        "where, which stays so when another one grows.",
        examples=["20%", "20% to 50%"],
    )
    salt: str = Field(default="", max_length=128, description="Another salt is another draw.", examples=["2026-11"])
    variants: dict[Name, VariantEntry] = Field(
        min_length=2,
        description="The arms; the one called control, else the first, is what the others are compared with.",
    )
    before: list[dict[Name, float]] = Field(
        default=[],
        description="Weights that it had earlier, oldest first: a change of several then moves as few units as can be.",
        examples=[[{"control": 90, "treat": 10}]],
    )
    measure: MeasureEntry | None = Field(default=None, description="What is measured.")
    decide: DecideEntry = Field(default_factory=DecideEntry, description="What decides, and what happens then.")
    watch: list[Name] = Field(default=[], description="Guardrails, by name.", examples=[["errors", "latency"]])
    health: HealthEntry = Field(default_factory=HealthEntry, description="What must be so for any verdict.")
