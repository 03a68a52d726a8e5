"""`resilience:` time limits and retries."""

from typing import Annotated, Literal

from pydantic import BeforeValidator, Field, InstanceOf, WithJsonSchema

from policies.language.closed import Closed
from policies.language.fields import Seconds
from policies.language.values import lateness, shares
from policies.language.values.lateness import After

AfterText = Annotated[
    InstanceOf[After],
    BeforeValidator(lateness.after),
    WithJsonSchema({"type": "string", "pattern": f"^(?:{lateness.AFTER_PATTERN})$"}),
]
Percent = Annotated[
    float,
    BeforeValidator(shares.percent),
    WithJsonSchema({"type": "string", "pattern": f"^{shares.PERCENT_PATTERN}$"}),
]


class RetryEntry(Closed):
    """What bounds asking again, so that those who fail are not asked ever more by all."""

    budget: Percent = Field(
        description="Share of the requests whose failed attempt is followed by another one, replica or model; ten more may be "
        "saved up.",
        examples=["20%"],
    )


class Above(Closed):
    """A share that is too high."""

    over: Percent = Field(description="Above this.", examples=["70%"])


class UnlessEntry(Closed):
    """When nobody is hedged."""

    load: Above = Field(
        description="The share of the model's replicas before which prompts wait, or that cannot be asked.",
        examples=[{"over": "70%"}],
    )


class HedgeEntry(Closed):
    """A stream of which nothing is heard is asked of another replica of its model too; whoever speaks first answers."""

    after: AfterText = Field(
        description="After so much silence, or `p95 of ttft`: as long as so many of the model's last prompts of about this "
        "length waited for their first content.",
        examples=["800ms", "p95 of ttft"],
    )
    budget: Percent = Field(
        default="2%", validate_default=True, description="Share of the streamed requests, at most.", examples=["2%"]
    )
    cancel: Literal["loser"] = Field(default="loser", description="Who is not heard any more.", examples=["loser"])
    unless: UnlessEntry | None = Field(
        default=None,
        description="Where too many are busy, a second call would make others wait.",
        examples=[{"load": {"over": "70%"}}],
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
    retry: RetryEntry | None = Field(
        default=None, description="How much of the traffic may be asked for again; as much as fails when not stated."
    )
    hedge: HedgeEntry | None = Field(
        default=None, description="Whether another replica is asked beside one that is silent."
    )
