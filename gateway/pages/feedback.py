"""POST /v1/feedback: what a caller says of an earlier answer, by the id of its request, kept in the log of decisions."""

from hashlib import sha256
from math import ceil
from typing import Annotated

import msgspec

from gateway.decisions.record import FeedbackRecord, Rating
from gateway.decisions.turnstile import Turnstile
from gateway.errors import BadRequest, NotFound, TooOften, Unavailable
from gateway.experiments.outcomes import judged_by_caller
from gateway.house import Gateway
from gateway.pages.page import NO_CACHE, who_asks
from gateway.request.identity import Principal, presented_key
from gateway.request.ingress import Receive, Scope, Send, read_body, refuse_deep
from gateway.request.reply import send_whole

LONGEST_COMMENT = 10_000
LONGEST_CORRECTION = 100_000


class Feedback(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """At least one beside the id is told. `score` is between 0 (useless) and 1; `corrected`: somebody had to mend the answer,
    and `correction` is what it should have been."""

    request_id: Annotated[str, msgspec.Meta(pattern="^req_[0-9a-f]{24}$")]
    rating: Rating | None = None
    score: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    corrected: bool | None = None
    correction: Annotated[str, msgspec.Meta(min_length=1, max_length=LONGEST_CORRECTION)] | None = None
    comment: Annotated[str, msgspec.Meta(max_length=LONGEST_COMMENT)] | None = None

    @property
    def says_something(self) -> bool:
        told = (self.rating, self.score, self.corrected, self.correction, self.comment)
        return any(word is not None for word in told)


class FeedbackPage:
    """The endpoint. Each key has a rate of its own."""

    def __init__(self, per_minute: int) -> None:
        self._turnstile = Turnstile(per_minute)

    async def __call__(self, gateway: Gateway, scope: Scope, receive: Receive, send: Send) -> None:
        principal, headers = who_asks(gateway, scope)
        now = gateway.world.now()
        self._count(f"{principal.tenant}:{presented_key(headers)}", now)
        body = await read_body(receive, gateway.limits)
        refuse_deep(body, gateway.limits.json_depth)
        await send_whole(send, 202, answer_of(gateway, read_feedback(body), principal, now), NO_CACHE)

    def _count(self, who: str, now: float) -> None:
        """Raises TooOften."""
        wait_s = self._turnstile.wait_s(sha256(who.encode("utf-8", "surrogatepass")).digest(), now)
        if wait_s:
            after = str(ceil(wait_s))
            raise TooOften(f"This key says too much at once; wait {after} s.", headers={"retry-after": after})


def answer_of(gateway: Gateway, told: Feedback, principal: Principal, now: float) -> bytes:
    """What becomes of it. Raises NotFound, Unavailable."""
    if gateway.decisions is None and not gateway.experiments.listens:
        raise NotFound("Feedback is kept in the log of decisions, and none is kept here: set TURNOUT_DECISIONS__DIR.")
    said = judged_by_caller(told.rating, told.score, told.corrected or told.correction is not None)
    gateway.experiments.told(principal.tenant, told.request_id, said)
    if gateway.decisions is None:
        return b'{"status":"accepted"}'
    standing = gateway.decisions.heard(record_of(told, principal, now))
    if standing is None:
        raise Unavailable("More is waiting to be written than there is room for, so this feedback was not kept.")
    if standing == "expired":
        raise NotFound(
            f"The decision of {told.request_id} is no longer kept, so this feedback would count for nothing."
        )
    return msgspec.json.encode({"status": standing})


def read_feedback(body: bytes) -> Feedback:
    """Raises BadRequest."""
    try:
        told = msgspec.json.decode(body, type=Feedback)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise BadRequest(f"This is no feedback: {error}.", param=field_of(error)) from None
    if not told.says_something:
        raise BadRequest("Say at least one of rating, score, corrected, correction and comment.")
    return told


def field_of(error: Exception) -> str | None:
    """The field that msgspec names: `... - at `$.score``."""
    found = str(error).rpartition("`$.")[2].rstrip("`")
    return found if found in Feedback.__struct_fields__ else None


def record_of(told: Feedback, principal: Principal, now: float) -> FeedbackRecord:
    """Of a comment and a correction only their lengths."""
    return FeedbackRecord(
        at=now,
        request_id=told.request_id,
        tenant=principal.tenant,
        rating=told.rating,
        score=told.score,
        corrected=True if told.correction is not None else told.corrected,
        comment_chars=len(told.comment or ""),
        correction_chars=len(told.correction or ""),
    )
