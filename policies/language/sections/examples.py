"""`tests:` the examples that a policy must hold before it is loaded."""

from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from policies.language.closed import Closed, WithHeaders
from policies.language.fields import Title, Tokens


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
    escalated_to: str | None = Field(
        default=None, description="The model that took over in an earlier turn.", examples=["large"]
    )
    stuck: int | None = Field(
        default=None, ge=0, description="An agent's latest turns in a row that came to nothing.", examples=[2]
    )
    down: list[str] | None = Field(
        default=None, description="Models of which no replica is ready.", examples=[["small"]]
    )
    spent: list[str] | None = Field(
        default=None, description="Budgets that have nothing left, by name.", examples=[["tenant-day"]]
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
