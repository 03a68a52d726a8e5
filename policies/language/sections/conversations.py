"""`conversations:` what may change within one."""

from typing import Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError

from policies.language.closed import Closed
from policies.language.fields import IdSource, Seconds
from policies.policy import ID_FROM, MayMove, StayWith


class ConversationsEntry(Closed):
    """Do not change voice under the user."""

    may_move: MayMove = Field(
        default="up",
        description="Whether a conversation may change tier: `up` never comes down again, `never` stays (where "
        "its escalation took it).",
    )
    stay_with: StayWith = Field(
        default="tier",
        description="`tier`: load may lift it to a dearer model. `model`: only a turn that needs one does.",
    )
    for_: Seconds = Field(
        default="1h",
        alias="for",
        validate_default=True,
        description="How long after a turn it is known by which line that was decided, and whether it was escalated.",
        examples=["2h"],
    )
    id_from: list[IdSource] = Field(
        default=list(ID_FROM),
        min_length=1,
        description="Where a request names its conversation, for later turns and for experiments; the first that says "
        "something. `header.NAME`, a text in the body (`body.KEY`, `body.KEY.KEY`), or `prompt_prefix`: how it went so far.",
        examples=[["header.x-conversation-id", "prompt_prefix"]],
    )

    @model_validator(mode="after")
    def _stays(self) -> Self:
        if self.may_move == "freely" and self.stay_with == "model":
            raise PydanticCustomError("moves_freely", "stays with its model, and may move freely: state one of the two")
        return self
