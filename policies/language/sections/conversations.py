"""`conversations:` what may change within one."""

from pydantic import Field

from policies.language.closed import Closed
from policies.policy import MayMove


class ConversationsEntry(Closed):
    """Do not change voice under the user."""

    may_move: MayMove = Field(
        default="up", description="Whether a conversation may change tier: `up` never comes down again, `never` stays."
    )
