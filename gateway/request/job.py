"""One request under way, as every part of its driving sees it."""

import asyncio
from collections.abc import Callable

import msgspec

from backends.errors import UpstreamError
from backends.messages import ChatRequest, Event
from backends.upstream import Prepared, TimeLimits
from gateway.live.in_force import Live, opened
from gateway.request.affinity import Affinity
from gateway.request.egress import Egress
from gateway.request.escalate.cascade import Cascade
from gateway.request.escalate.head_start import HeadStart
from gateway.request.hedging.lateness import Hedges
from gateway.request.judge import Judged
from gateway.request.owner import Owner
from gateway.request.settle import Books
from gateway.request.told import reason_of, told, why_escalated
from gateway.shadows.capture import Ear
from policies.allowance import Allowance
from policies.decision import Call

LEAST_S = 0.001
"""For an attempt that begins when the time for all is over: it fails as late, not as impossible."""


class Job(msgspec.Struct, eq=False):
    """One request under way: what was decided, who holds what, where the answer goes, and the books. `cascade` is None on a
    route that does not escalate.

    `total_at`, on the event loop's clock, bounds all attempts together. `ear` hears the answer, where the log wants to know
    its form. `hedges` may begin while nobody speaks, None where none may; `retries` bound those
    that follow failures, None where nothing does. `stands_in` is the replica that an attempt came to
    when two were raced.
    """

    live: Live
    request: ChatRequest
    salt: bytes
    judged: Judged
    affinity: Affinity
    owner: Owner
    out: Egress
    books: Books
    cascade: Cascade | None
    total_at: float
    failures: list[tuple[Call, UpstreamError]] = []
    head_start: HeadStart | None = None
    ear: Ear | None = None
    hedges: Hedges | None = None
    stands_in: Call | None = None
    retries: Allowance | None = None

    def prepared(self, call: Call) -> Prepared:
        """The prompt as this model reads it; of one that nobody reads but the replica itself, the length."""
        known = self.judged.prepared.get(call.model)
        if known is None:
            replica = self.live.replica(call)
            known = (
                opened(replica).prepare(self.request, self.salt)
                if self.request.asks != "embeddings" and self.live.groups[call.model].reader is not None
                else Prepared(tokens=self.judged.facts.prompt_tokens, exact=False, salt=self.salt)
            )
            self.judged.prepared[call.model] = known
        return known

    def may_ask_again(self) -> bool:
        """Whether another attempt may follow one that failed; where none may, the books say so."""
        self.books.unretried = self.retries is not None and not self.retries.take()
        return not self.books.unretried

    def came_to(self, call: Call) -> Call:
        """Who was asked in the end by an attempt at `call`."""
        return self.stands_in or call

    def listeners(self) -> tuple[Callable[[Event], None], ...]:
        """Who hears what is said from here on, beside the client; what an earlier attempt said is forgotten."""
        follower = self.cascade.follower if self.cascade is not None else None
        if self.ear is None:
            return () if follower is None else (follower.hear,)
        self.ear.forget()
        return (self.ear.hear,) if follower is None else (follower.hear, self.ear.hear)

    def reason(self, call: Call) -> str:
        """Why `call` is asked."""
        hedged, given_up = self.books.hedged, self.books.abandoned_by
        if hedged is None and given_up is None and not self.failures:
            return self.judged.decision.reason
        if hedged is not None and hedged.result == "won" and call == hedged.second:
            return f"{call.model}: another replica, the first said nothing for {hedged.after_s:g} s"
        if given_up is not None and call.model not in (given_up.model, *[gone.model for gone, _ in self.failures]):
            return why_escalated(call, given_up, self.books.why_given_up)
        return reason_of(self.judged.decision.reason, call, self.failures)

    def announce(self, call: Call, prepared: Prepared) -> None:
        """From here on the client may get what `call` says, with this head."""
        books = self.books
        books.asked, books.reason = call, self.reason(call)
        head = told(books)
        if self.affinity.is_relayed:
            head = {**head, **self.affinity.told(prepared)}
        self.out.attempt(call, head, prepared.tokens if prepared.exact else 0)

    def limits(self) -> TimeLimits:
        """Of an attempt that begins in this instant."""
        set_, left_s = self.live.policy.resilience, self.total_at - asyncio.get_running_loop().time()
        left_s = left_s if left_s > LEAST_S else LEAST_S
        return TimeLimits(
            connect_s=set_.connect_s,
            first_content_s=set_.first_content_s if set_.first_content_s < left_s else left_s,
            gap_s=set_.gap_s,
            total_s=left_s,
        )
