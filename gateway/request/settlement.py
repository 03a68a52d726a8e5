"""What a request came to: the one value that accounting, logs, traces and metrics read when it is over."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from backends.messages import Usage
from gateway.budgets.told import Budgeted
from gateway.request.hedging.hedged import Hedged
from policies.decision import Call, Decision
from policies.escalate.task import Task

Judgement = Literal["", "kept", "over_limit", "escalated", "turned_back"]
"""What became of an answer that was held back: "" when none was; kept: it was good enough; over_limit: it was not, but the
route's share of escalations was spent; escalated: a larger model answered instead; turned_back: none could, so it was sent
after all."""

End = Literal["stop", "length", "tool_calls", "content_filter", "cancelled", "error", "rejected"]


class Settlement(msgspec.Struct, frozen=True, kw_only=True):
    """One finished request. Times in milliseconds since it arrived; `ttft_ms` None when no content ever left.

    `status` is the HTTP status that the client saw, or would have seen (499 when it left first). `error_code` is the
    stable code of the error, or "". `answered_by` is None when nobody answered. `reason` says why the last call was made
    that was: in the decision's words, until a fallback. `abandoned` is what the call `abandoned_by` used for an answer that
    was given up; its price `abandoned_microusd` is part of `microusd`. So is what `beside`, who was asked for a second opinion,
    charged. `budgeted` is what became of its budgets, None where there are none. `hedged` says who was raced; what the
    loser was charged is part of `microusd`. `measures` are what an answer that was held back was judged by, `weighed_as`
    the task by whose weights. `unretried`: another attempt would have followed, but too many had been made of late.
    """

    request_id: str
    dialect: str
    tenant: str
    stream: bool
    status: int
    end: End
    attempts: int
    duration_ms: float
    ttft_ms: float | None = None
    decision: Decision | None = None
    reason: str = ""
    answered_by: Call | None = None
    usage: Usage | None = None
    microusd: int = 0
    error_code: str = ""
    judgement: Judgement = ""
    p_correct: float | None = None
    weighed_as: Task = ""
    measures: Mapping[str, float] | None = None
    abandoned_by: Call | None = None
    abandoned: Usage | None = None
    abandoned_microusd: int = 0
    beside: Call | None = None
    beside_usage: Usage | None = None
    beside_microusd: int = 0
    budgeted: Budgeted | None = None
    hedged: Hedged | None = None
    unretried: bool = False
