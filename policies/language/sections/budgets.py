"""`budgets:` what may be spent, by whom, and what happens to a request for which too little is left."""

from typing import Annotated, Any

from pydantic import BeforeValidator, Field, InstanceOf, WithJsonSchema

from policies.budgets.plan import Per, WhenAway
from policies.language.closed import Closed
from policies.language.fields import Name, Seconds
from policies.language.values import limits as spending
from policies.language.values.limits import Limit

REJECT = "reject"
DOWNGRADE_TO = "downgrade_to"

LimitText = Annotated[
    InstanceOf[Limit],
    BeforeValidator(spending.limit),
    WithJsonSchema({"type": "string", "pattern": f"^{spending.LIMIT_PATTERN}$"}),
]


def _lesser(value: object) -> object:
    """The model to downgrade to, "" for `reject`. Raises ValueError."""
    if value == REJECT:
        return ""
    if not isinstance(value, dict) or list(value) != [DOWNGRADE_TO] or not isinstance(value[DOWNGRADE_TO], str):
        raise ValueError("should be reject, or {downgrade_to: MODEL}")
    return value[DOWNGRADE_TO]


WHEN_SPENT: dict[str, Any] = {
    "anyOf": [
        {"type": "string", "enum": [REJECT]},
        {
            "type": "object",
            "properties": {DOWNGRADE_TO: {"type": "string", "description": "The model that answers instead."}},
            "required": [DOWNGRADE_TO],
            "additionalProperties": False,
        },
    ]
}
WhenSpent = Annotated[str, BeforeValidator(_lesser), WithJsonSchema(WHEN_SPENT)]


class BudgetEntry(Closed):
    """What somebody may spend. All budgets apply: what a request may come to is set aside in each before it is asked, and
    what it came to is what stays taken."""

    name: Name | None = Field(
        default=None,
        description="What errors, metrics and the shared store call it; when not stated PER-PERIOD, such as tenant-day.",
        examples=["gold-day"],
    )
    per: Per = Field(description="Who has an account of their own; `all`: everybody shares one.", examples=["tenant"])
    limit: LimitText = Field(
        description="Money or tokens for a `min`, `hour`, `day` or `month`. A minute flows: what was taken comes back evenly. "
        "The others are those of UTC, and whole again when they begin.",
        examples=["$50/day", "200k/min"],
    )
    burst: Annotated[Seconds, Field(ge=0.1, le=3600)] | None = Field(
        default=None,
        description="Of a limit for a minute, as many seconds' worth as may be taken at once; a minute's when not stated.",
        examples=["30s"],
    )
    when_spent: WhenSpent = Field(
        default=REJECT,
        validate_default=True,
        description="`reject`: 429, with when to ask again. `{downgrade_to: MODEL}`: that model answers, and what it takes is "
        "counted without being refused; who names a model is refused.",
        examples=[{DOWNGRADE_TO: "small"}],
    )
    if_store_is_down: WhenAway = Field(
        default="local_share",
        description="While `TURNOUT_STATE` is away that gateways share. `local_share`: each may take an even part of what was "
        "left. `reject`: nobody is answered. `allow`: it refuses nobody, and what was taken is told when the store is back.",
        examples=["local_share"],
    )
