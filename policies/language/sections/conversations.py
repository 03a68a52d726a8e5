"""`conversations:` what may change within one."""

from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from policies.language.closed import Closed
from policies.language.fields import Seconds
from policies.policy import MayMove, StayWith


class ConversationsEntry(Closed):
    """Do not change voice under the user."""

    may_move: MayMove = Field(
        default="up", description="Whether a conversation may change tier: `up` never comes down again, `never` stays."
    )
    stay_with: StayWith = Field(
        default="tier",
        description="`tier`: load may lift it to a dearer model. `model`: only a turn that needs one does.",
    )
    for_: Seconds = Field(
        default="1h",
        alias="for",
        validate_default=True,
        description="How long after a turn it is known by which line that was decided.",
        examples=["2h"],
    )

    @model_validator(mode="after")
    def _stays(self) -> Self:
        if self.may_move == "freely" and self.stay_with == "model":
            raise PydanticCustomError("moves_freely", "stays with its model, and may move freely: state one of the two")
        return self
