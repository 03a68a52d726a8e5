"""`escalations:` when the answer of a lower tier is given up for a larger model's, and who goes there at once."""

from typing import Annotated, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from policies.escalate.plan import Moves, Signal
from policies.language.closed import Closed
from policies.language.fields import Seconds, Tokens
from policies.language.values import shares

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


class StuckEntry(Closed):
    """An agent whose calls of tools come to nothing."""

    turns: int = Field(
        ge=2,
        le=100,
        description="So many of its turns in a row had only calls that failed, or were made before with the same result.",
        examples=[2],
    )


class EscalateWhen(Closed):
    """What asks for the larger model; at least one of the two."""

    p_correct: Below | None = Field(
        default=None,
        description="The chance that an answer is right, by its signals: it is given up.",
        examples=[{"under": "70%"}],
    )
    stuck: StuckEntry | None = Field(
        default=None,
        description="An agent that is stuck, by the tool calls in its history: the next answer is the larger model's.",
        examples=[{"turns": 2}],
    )

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.p_correct is None and self.stuck is None:
            raise PydanticCustomError("never_escalates", "is never met: needs p_correct or stuck")
        return self


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
    """An answer that is not good enough is given up, unseen, for a larger model's; an agent that is stuck gets that at once."""

    to: str = Field(description="The model that answers instead.", examples=["large"])
    when: EscalateWhen = Field(description="When the larger model is to answer.")
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
