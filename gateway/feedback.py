"""POST /v1/feedback: what a caller says of an earlier answer, by the id of its request, kept in the log of decisions."""

from typing import Annotated

import msgspec

from gateway.decisions.record import FeedbackRecord, Rating
from gateway.errors import BadRequest, NotFound, Unavailable
from gateway.house import Gateway
from gateway.pages import NO_CACHE, who_asks
from gateway.request.identity import Principal
from gateway.request.ingress import Receive, Scope, Send, read_body, refuse_deep
from gateway.request.reply import send_whole

LONGEST_COMMENT = 10_000


class Feedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At least one of the four is told. `score` is between 0 (useless) and 1; `corrected`: somebody had to mend the answer."""

    request_id: Annotated[str, msgspec.Meta(pattern="^req_[0-9a-f]{24}$")]
    rating: Rating | None = None
    score: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    corrected: bool | None = None
    comment: Annotated[str, msgspec.Meta(max_length=LONGEST_COMMENT)] | None = None

    @property
    def says_something(self) -> bool:
        return any(told is not None for told in (self.rating, self.score, self.corrected, self.comment))


async def feedback(gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
    """Whether the request was this tenant's is found when the log is read: nothing is remembered of requests here."""
    principal, _ = who_asks(gateway, scope)
    body = await read_body(receive, gateway.limits)
    refuse_deep(body, gateway.limits.json_depth)
    told = read_feedback(body)
    if gateway.decisions is None:
        raise NotFound("Feedback is kept in the log of decisions, and none is kept here: set TURNOUT_DECISIONS__DIR.")
    if not gateway.decisions.heard(record_of(told, principal, gateway.world.now())):
        raise Unavailable("More is waiting to be written than there is room for, so this feedback was not kept.")
    await send_whole(send, 202, b'{"status":"accepted"}', NO_CACHE)


def read_feedback(body: bytes) -> Feedback:
    """Raises BadRequest."""
    try:
        told = msgspec.json.decode(body, type=Feedback)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"This is no feedback: {error}.", param=field_of(error)) from None
    if not told.says_something:
        raise BadRequest("Say at least one of rating, score, corrected and comment.")
    return told


def field_of(error: Exception) -> str | None:
    """The field that msgspec names: `... - at `$.score``."""
    found = str(error).rpartition("`$.")[2].rstrip("`")
    return found if found in Feedback.__struct_fields__ else None


def record_of(told: Feedback, principal: Principal, now: float) -> FeedbackRecord:
    """Of a comment only its length."""
    return FeedbackRecord(
        at=now,
        request_id=told.request_id,
        tenant=principal.tenant,
        rating=told.rating,
        score=told.score,
        corrected=told.corrected,
        comment_chars=len(told.comment or ""),
    )
