"""What labels and attributes may say, where that is a closed set."""

from typing import Literal, get_args

from backends.errors import Kind
from gateway.budgets.told import By, Result
from gateway.request.hedging.hedged import HedgeResult
from gateway.request.settlement import Judgement

Outcome = Literal["ok", "cancelled", "cut", "error", "rejected"]
OUTCOMES: tuple[str, ...] = get_args(Outcome)
"""ok: a whole answer; cancelled: the client left; cut: an error after content had left; rejected: nobody was asked."""

Kept = Literal["failed", "escalated", "hedged", "slow", "explored", "variant", "caller", "share"]
"""Why a trace was kept, the first reason there was: an error, or an attempt that failed; an answer given up; a race of two
replicas; late content; a drawn choice; of the first requests of a variant; its caller keeps it; the share of all others
has it."""

Link = Literal["retry", "fallback", "escalation", "beside", "hedge", "caller", "shadow"]
"""To the attempt before: the same model again; that one failed; its answer was given up; it goes on; it goes on in silence,
and this is its model elsewhere. Of the request: to who asked, where callers' traces are not continued."""

KINDS: tuple[str, ...] = get_args(Kind)
RELOADS = ("ok", "failed")
SIGNALS = ("span", "log", "decision")
ESTIMATES = ("answered", "abstained")

JUDGED: tuple[str, ...] = tuple(word for word in get_args(Judgement) if word)
"""kept: good enough; over_limit: sent though it was not; escalated: given up; turned_back: given up, and sent after all."""

BUDGET_RESULTS: tuple[str, ...] = get_args(Result)
"""reserved: there was room; downgraded: a lesser model answered; refused: nobody did."""

BUDGET_SAID_BY: tuple[str, ...] = get_args(By)
"""memory: this process, which is alone; store: what gateways share; local_share: this process, while that is away."""

HEDGE_RESULTS: tuple[str, ...] = get_args(HedgeResult)
"""cancelled: the first one spoke; won: the second did; failed: the second failed, and the first went on."""

EXEMPLAR = "trace_id"
"""The one label of an exemplar: a trace that was kept."""

NONE = "none"
"""The label of a route or model that there is not: nothing was decided, nobody answered."""

OTHER = "other"
"""The label that stands for every value outside the closed set."""
