"""`rollouts:` a change of this policy that more and more units get, and what takes it back."""

from typing import Annotated

from pydantic import BeforeValidator, Field, JsonValue, WithJsonSchema

from policies.experiments.plan import CompareWith, Unit
from policies.language.closed import Closed
from policies.language.fields import Name, Texts
from policies.language.sections.experiments import HealthEntry
from policies.language.values.effects import LongSeconds
from policies.language.values.shares import PERCENT_PATTERN, up_to_all

UnitShare = Annotated[
    float, BeforeValidator(up_to_all), WithJsonSchema({"type": "string", "pattern": f"^{PERCENT_PATTERN}$"})
]


class EnoughEntry(Closed):
    """What must have been seen in a step beside its time."""

    samples: int = Field(ge=1, description="Requests of the canary that are over.", examples=[200])


class PairsEntry(Closed):
    """What a shadow must have shown."""

    pairs: int = Field(
        ge=1,
        le=100_000,
        description="Requests that both have answered, or failed to; no more are asked.",
        examples=[500],
    )


class StepEntry(Closed):
    """A share of the units for a while, a wait for a person, or a shadow; exactly one of `traffic`, `approve` and `shadow`."""

    exactly_one = ("traffic", "approve", "shadow")

    traffic: UnitShare | None = Field(
        default=None,
        description="The share of the units that has the change; at 100% one in a hundred stays control while the step lasts.",
        examples=["1%"],
    )
    for_: LongSeconds | None = Field(default=None, alias="for", description="For so long at least.", examples=["30m"])
    and_: EnoughEntry | None = Field(
        default=None, alias="and", description="And until this was seen.", examples=[{"samples": 200}]
    )
    approve: Name | None = Field(
        default=None, description="Who says that it may go on (`turnout rollout approve`).", examples=["oncall"]
    )
    shadow: UnitShare | None = Field(
        default=None,
        description="The share of the requests that is asked by the change as well, after the answer has left; nobody has the "
        "change yet, and a guardrail that breaks (errors, times, cost) holds it. Before any traffic.",
        examples=["5%"],
    )
    until: PairsEntry | None = Field(default=None, description="Of a shadow: for so long.", examples=[{"pairs": 500}])


class RolloutEntry(Closed):
    """A change that is brought in step by step, beside a control sample of the same hours."""

    name: Name = Field(description="What headers, logs and commands call it.", examples=["large-next"])
    on: Texts | None = Field(default=None, description="The routes whose requests take part; all when not stated.")
    change: Annotated[dict[str, JsonValue], WithJsonSchema({"type": "object"})] = Field(
        min_length=1,
        description="What it changes in this policy, by path; the whole is checked as a policy of its own.",
        examples=[{"models.large.serves": "frontier-2026-12"}],
    )
    unit: Unit = Field(default="conversation", description="What keeps its variant.")
    compare_with: CompareWith = Field(
        default="matched",
        description="What control is, in the same hours. `matched`: a sample as big as the canary; events (errors, slow "
        "tails) are compared with everybody else too. `rest`: everybody else, for all metrics.",
    )
    salt: str = Field(default="", max_length=128, description="Another salt is another draw.", examples=["2026-12"])
    steps: list[StepEntry] = Field(min_length=1, description="From the first share to the last; then everybody has it.")
    watch: list[Name] = Field(
        min_length=1, description="Guardrails, by name: what rolls it back, or holds it.", examples=[["errors", "cost"]]
    )
    health: HealthEntry = Field(default_factory=HealthEntry, description="What must be so for any step.")
