"""`routes:` which model, for which request."""

from typing import Literal

from pydantic import Field

from policies.language.closed import Closed
from policies.language.fields import Name, ShareOf
from policies.language.sections.conditions import When
from policies.language.sections.escalations import Percent


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


class FloorEntry(Closed):
    """What a cost target must not fall below; a policy that cannot hold both is not loaded."""

    quality: ShareOf = Field(
        description="The mix keeps this share of a model's quality, whatever it then costs.", examples=["95% of large"]
    )


class ChooseEntry(Closed):
    """A choice by difficulty."""

    by: Literal["difficulty"] = Field(description="What decides.", examples=["difficulty"])
    among: list[str] = Field(min_length=2, description="The ladder, lowest tier first.", examples=[["small", "large"]])
    target: TargetEntry = Field(description="What the mix shall come to; thresholds are solved from it.")
    floor: FloorEntry | None = Field(default=None, description="The least quality that a cost target may come to.")
    when_unsure: str | None = Field(
        default=None,
        description="Where to go without an estimate; the target's model when not stated.",
        examples=["large"],
    )
    adapt: Literal["on", "off"] = Field(
        default="on", description="`on`: the line between the tiers follows the traffic, so that the target is held."
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
    escalate: str | None = Field(
        default=None, description="The escalation that judges the answers of lower tiers.", examples=["careful"]
    )
    explore: Percent | None = Field(
        default=None,
        description="Share of conversations whose tier is drawn from `among`, so that the log can tell of other policies.",
        examples=["2%"],
    )
