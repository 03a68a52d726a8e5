"""`when:` of a route: which requests it takes."""

from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from policies.language.closed import Closed, WithHeaders
from policies.language.fields import Needs, Texts, Tokens


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
