"""Step 10: what a request came to. The books are kept while it runs and closed exactly once, whatever happened."""

import re
import time
from collections.abc import Mapping
from typing import cast

import msgspec

from backends.messages import Delta, Event, Finish, FinishReason, ToolCall, Usage, Whole, Wire
from gateway.budgets.told import Budgeted
from gateway.errors import RouterError
from gateway.request.hedging.hedged import Hedged
from gateway.request.settlement import End, Judgement, Settlement
from policies.catalogue import Price
from policies.decision import Call, Decision
from policies.escalate.task import Task
from policies.escalate.verdict import Verdict

PER_MILLION = 1_000_000
FREE = Price()


def spend_microusd(price: Price, usage: Usage) -> int:
    """What `usage` costs at `price`, rounded up: the books never say less than the bill.

    >>> spend_microusd(Price(input=50_000, cached_input=10_000, output=200_000), Usage(1_000, 500, 400))
    134
    """
    fresh = usage.prompt_tokens - usage.cached_tokens - usage.written_tokens
    writing = price.input if price.cache_write is None else price.cache_write
    prompt = fresh * price.input + usage.cached_tokens * price.cached_input + usage.written_tokens * writing
    total = prompt + usage.completion_tokens * price.output
    return -(-total // PER_MILLION)


FINISH = re.compile(rb'"finish_reason":\s*"(stop|length|tool_calls|content_filter)"')
"""Never matches inside a text: there the quotes are escaped."""


def reason_of(data: bytes) -> FinishReason:
    """The first finish reason in an answer that passes as it came.

    >>> reason_of(b'{"choices":[{"finish_reason":"length"}]}')
    'length'
    """
    found = FINISH.search(data)
    return cast(FinishReason, found[1].decode()) if found else "stop"


class Tally(msgspec.Struct):
    """What one attempt has said so far."""

    prompt_tokens: int
    usage: Usage | None = None
    counted: Usage | None = None
    pieces: int = 0
    spoke: bool = False
    reason: End = "stop"

    def see(self, event: Event) -> bool:
        """Whether the event carries content that a user would see."""
        if type(event) is Wire:
            self.pieces += event.speaks
            if event.counted is not None:
                self.counted = event.counted
            if event.finishes:
                self.reason = reason_of(event.data)
            return event.speaks
        if type(event) is Whole:
            self.pieces += 1
            self.reason = event.finish or reason_of(event.body)
            return True
        if type(event) is Delta:
            self.pieces += len(event.logprobs) or 1
            return bool(event.text or event.logprobs)
        if type(event) is ToolCall:
            self.pieces += 1
            return True
        if type(event) is Usage:
            self.usage = event
        elif type(event) is Finish:
            self.reason = event.reason
        return False

    @property
    def best_usage(self) -> Usage | None:
        """The upstream's own count; of an answer that was cut, what it had counted by then, and what was seen: a piece is
        about a token."""
        if self.usage is not None or not self.pieces:
            return self.usage
        counted = self.counted or Usage(self.prompt_tokens, 0)
        return msgspec.structs.replace(counted, completion_tokens=max(counted.completion_tokens, self.pieces))


class Books(msgspec.Struct):
    """One request, as far as it has come. Instants are of `time.perf_counter`.

    `asked` is the latest call that was tried, and `reason` says why that one. `shows_candidates`: the client is told where
    its prompt was believed to be, and how busy everybody was.
    """

    request_id: str
    dialect: str
    tenant: str = ""
    stream: bool = False
    status: int = 200
    end: End = "stop"
    attempts: int = 0
    ttft_ms: float | None = None
    decision: Decision | None = None
    reason: str = ""
    asked: Call | None = None
    answered_by: Call | None = None
    usage: Usage | None = None
    price: Price = FREE
    error_code: str = ""
    judgement: Judgement = ""
    p_correct: float | None = None
    weighed_as: Task = ""
    measures: Mapping[str, float] | None = None
    why_given_up: str = ""
    abandoned_by: Call | None = None
    abandoned: Usage | None = None
    abandoned_microusd: int = 0
    beside: Call | None = None
    beside_usage: Usage | None = None
    beside_microusd: int = 0
    budgeted: Budgeted | None = None
    hedged: Hedged | None = None
    unretried: bool = False
    shows_candidates: bool = False
    began_at: float = msgspec.field(default_factory=time.perf_counter)

    def tried(self, call: Call, said: Tally, price: Price, attempts: int, spoke_at: float | None) -> None:
        """What an attempt came to. The last one is the one that counts as the answer."""
        self.attempts = attempts
        usage = said.usage or said.best_usage
        if usage is not None:
            self.usage, self.price = usage, price
        self.answered_by, self.end = call, said.reason
        if spoke_at is not None:
            self.ttft_ms = (spoke_at - self.began_at) * 1_000

    def spoke(self, at: float) -> None:
        """The first content left at this instant; of several attempts only the last one gets so far."""
        self.ttft_ms = (at - self.began_at) * 1_000

    def held_and_sent(self, found: Verdict, *, over_limit: bool) -> None:
        """An answer that was held back leaves."""
        self._judged(found)
        self.judgement = "over_limit" if over_limit else "kept"

    def gave_up(self, call: Call, found: Verdict, usage: Usage | None, price: Price) -> None:
        """The answer of `call` is abandoned for a larger model's; what it used is charged all the same."""
        self._judged(found)
        self.judgement = "escalated"
        self.abandoned_by, self.abandoned, self.why_given_up = call, usage, found.why
        self.abandoned_microusd = spend_microusd(price, usage) if usage else 0
        self.usage = None

    def _judged(self, found: Verdict) -> None:
        self.p_correct, self.weighed_as, self.measures = found.p_correct, found.weighed_as, found.measures

    def asked_beside(self, call: Call, usage: Usage | None, price: Price) -> None:
        """Whoever was asked for a second opinion is charged, whether or not it came in time."""
        self.beside, self.beside_usage = call, usage
        self.beside_microusd += spend_microusd(price, usage) if usage else 0

    def turned_back(self, call: Call, price: Price) -> None:
        """Nobody answered better: the answer that was given up is sent after all."""
        self.judgement = "turned_back"
        self.usage, self.price, self.answered_by = self.abandoned, price, call
        self.abandoned_by, self.abandoned, self.abandoned_microusd = None, None, 0

    @property
    def microusd(self) -> int:
        """Of the answer, of what was abandoned for it, of a second opinion, and of who lost a race for it."""
        return (
            self.abandoned_microusd
            + self.beside_microusd
            + (self.hedged.microusd if self.hedged is not None else 0)
            + (spend_microusd(self.price, self.usage) if self.usage else 0)
        )

    def failed(self, error: RouterError, *, begun: bool) -> None:
        """`begun`: the head had left, so the client saw 200."""
        self.error_code = error.code or error.type
        if not begun:
            self.status = error.status
        if self.ttft_ms is None:
            self.answered_by = None
        self.end = "error" if self.attempts or error.status >= 500 else "rejected"

    def client_left(self, *, begun: bool) -> None:
        """`begun`: as in `failed`."""
        self.end, self.error_code = "cancelled", "client_left"
        if not begun:
            self.status = 499
        if self.ttft_ms is None:
            self.answered_by = None

    def close(self) -> Settlement:
        """What only some requests have is put beside what all have: to name all of it each time takes twice as long."""
        found = Settlement(
            request_id=self.request_id,
            dialect=self.dialect,
            tenant=self.tenant,
            stream=self.stream,
            status=self.status,
            end=self.end,
            attempts=self.attempts,
            duration_ms=(time.perf_counter() - self.began_at) * 1_000,
            ttft_ms=self.ttft_ms,
            decision=self.decision,
            reason=self.reason,
            answered_by=self.answered_by,
            usage=self.usage,
            microusd=self.microusd,
            error_code=self.error_code,
        )
        if self.judgement or self.beside is not None or self.hedged is not None:
            found = self._with_others(found)
        if self.budgeted is not None or self.unretried:
            found = msgspec.structs.replace(found, budgeted=self.budgeted, unretried=self.unretried)
        return found

    def _with_others(self, found: Settlement) -> Settlement:
        """Who was asked besides the one who answered, and why."""
        return msgspec.structs.replace(
            found,
            judgement=self.judgement,
            p_correct=self.p_correct,
            weighed_as=self.weighed_as,
            measures=self.measures,
            abandoned_by=self.abandoned_by,
            abandoned=self.abandoned,
            abandoned_microusd=self.abandoned_microusd,
            beside=self.beside,
            beside_usage=self.beside_usage,
            beside_microusd=self.beside_microusd,
            hedged=self.hedged,
        )
