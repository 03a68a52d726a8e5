"""`shadows:` a second model that is asked the same, after the answer, for comparison alone."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag, WithJsonSchema

from policies.language.closed import Closed
from policies.language.fields import Name, Seconds, Texts
from policies.language.sections.conditions import When
from policies.language.values import money, shares
from policies.shadows.plan import Comparison

ADay = Annotated[
    int, BeforeValidator(money.a_day), WithJsonSchema({"type": "string", "pattern": f"^{money.A_DAY_PATTERN}$"})
]
Sampled = Annotated[
    float,
    BeforeValidator(shares.up_to_all),
    WithJsonSchema({"type": "string", "pattern": f"^{shares.PERCENT_PATTERN}$"}),
]


class ShadowLimitsEntry(Closed):
    """What a shadow may take. What goes beyond is dropped and counted; no request is delayed."""

    cost: ADay | None = Field(
        default=None,
        description="Money for a UTC day, of all gateways that share a store; must be stated where a model that is asked has a "
        "price.",
        examples=["$5/day"],
    )
    in_flight: Annotated[int, Field(ge=1, le=256)] = Field(default=8, description="Asked at once.", examples=[8])
    queue: Annotated[int, Field(ge=1, le=4096)] = Field(
        default=64, description="Waiting at once; the newest is dropped.", examples=[64]
    )
    deadline: Annotated[Seconds, Field(le=3600)] = Field(
        default="60s", validate_default=True, description="How long one call may take.", examples=["60s"]
    )


class NoiseFloorEntry(Closed):
    """How much a model differs from itself."""

    answer_twice: Sampled = Field(
        description="Share of the sampled requests that the model which answered is asked once more.", examples=["10%"]
    )


class JudgeEntry(Closed):
    """A model that says which of two answers is better."""

    judge: str = Field(description="The model that is asked; it must write JSON by a schema.", examples=["medium"])
    both_orders: Literal[True] = Field(
        default=True, description="With each answer first once; where it then says something else, it says nothing."
    )
    of: Sampled = Field(
        default="10%", validate_default=True, description="Share of the compared pairs.", examples=["10%"]
    )


def _kind(value: object) -> str:
    return "[map]" if isinstance(value, dict | JudgeEntry) else "[word]"


Rung = Annotated[
    Annotated[Comparison, Tag("[word]")] | Annotated[JudgeEntry, Tag("[map]")],
    Discriminator(_kind),
]
"""A way to compare, by its name; or a judge."""


class ShadowEntry(Closed):
    """A model that is asked what another one has answered. Nobody waits for it, and nothing of it reaches a client."""

    name: Name = Field(description="What the log, metrics and commands call it.", examples=["could-small-do-it"])
    of: Texts = Field(
        description="A route, or a model whose answers it is compared with; a list means any of them.",
        examples=["default"],
    )
    to: str = Field(description="The model that is asked.", examples=["small"])
    sample: Sampled = Field(description="Share of the requests.", examples=["2%"])
    limits: ShadowLimitsEntry = Field(default_factory=ShadowLimitsEntry, description="What it may take.")
    never_when: When | None = Field(default=None, description="Requests that are never sampled.")
    compare: list[Rung] = Field(
        default=["exact", "structure"],
        min_length=1,
        description="How answers are compared: as they are and normalised, by words (needs the extra shadow), as JSON and tool "
        "calls, by sentence embeddings (needs the extra classify), by a judge.",
        examples=[["exact", "edit"]],
    )
    noise_floor: NoiseFloorEntry | None = Field(
        default=None, description="How much the model that answers differs from itself; without it there is no verdict."
    )
