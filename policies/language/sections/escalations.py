"""`escalations:` when the answer of a lower tier is given up for a larger model's."""

from typing import Annotated

from pydantic import BeforeValidator, Field, WithJsonSchema

from policies.escalate.plan import Moves, Signal
from policies.language import shares
from policies.language.closed import Closed
from policies.language.fields import Seconds, Tokens

Percent = Annotated[
    float,
    BeforeValidator(shares.percent),
    WithJsonSchema({"type": "string", "pattern": f"^{shares.PERCENT_PATTERN}$"}),
]
OfRequests = Annotated[
    float,
    BeforeValidator(shares.of_requests),
    WithJsonSchema({"type": "string", "pattern": f"^{shares.OF_REQUESTS_PATTERN}$"}),
]
PRIOR = "prior"
HeldTokens = Annotated[Tokens, Field(ge=1, le=1024)]
HeldSeconds = Annotated[Seconds, Field(le=10)]


class Below(Closed):
    """A chance that is too low."""

    under: Percent = Field(description="Below this.", examples=["70%"])


class EscalateWhen(Closed):
    """What gives an answer up."""

    p_correct: Below = Field(
        description="The chance that the answer is right, by its signals.", examples=[{"under": "70%"}]
    )


class HoldBackEntry(Closed):
    """What is kept from a streaming client until the answer is judged; whichever bound comes first."""

    tokens: HeldTokens = Field(default="48", validate_default=True, description="Tokens, 1024 at most.", examples=[48])
    at_most: HeldSeconds = Field(
        default="400ms",
        validate_default=True,
        description="Time since the first token, 10 s at most.",
        examples=["400ms"],
    )


class EscalationEntry(Closed):
    """An answer that is not good enough is given up, unseen, for a larger model's."""

    to: str = Field(description="The model that answers instead.", examples=["large"])
    when: EscalateWhen = Field(description="When an answer is not good enough.")
    signals: list[Signal] | None = Field(
        default=None,
        min_length=1,
        description="What is looked at; all that the answer shows when not stated.",
        examples=[["token_quantiles", "refusal"]],
    )
    hold_back: HoldBackEntry = Field(
        default_factory=HoldBackEntry, description="How much of a stream is judged; a whole answer is judged whole."
    )
    start_early: Below | None = Field(
        default=None,
        description="Ask `to` already when, at half of the window's tokens, the chance is below this; unused, it is closed.",
        examples=[{"under": "85%"}],
    )
    at_most: OfRequests = Field(
        default="100% of requests",
        validate_default=True,
        description="Share of the route's requests that may escalate; over it the answer is sent as it is.",
        examples=["12% of requests"],
    )
    moves: Moves | None = Field(
        default=None,
        description="`conversation`: its later turns stay with `to`, as long as `conversations.for` says. `answer`: they do "
        "not. Not stated: the conversation, unless that may move freely.",
        examples=["conversation"],
    )
    second_opinion: str | None = Field(
        default=None,
        description="Another model that is asked the same where the answer leaves in one piece: do both come to the same?",
        examples=["medium"],
    )
    weights: str = Field(
        default=PRIOR,
        min_length=1,
        description="What each signal weighs: a file of `turnout weigh`, or `prior` for the declared weights.",
        examples=["weights.json"],
    )
