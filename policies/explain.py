"""A decision as rows of a table, for a person: every model, where it stands, what it would cost, and why."""

import msgspec

from policies.decision import Call, Candidate, Decision, Dropped, Reject, Term
from policies.estimates import Estimate


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One candidate or one model that fell. `standing` is chosen, fallback 1, fallback 2 ..., not asked, or dropped.

    `microusd` is the expected cost, None where it was never reckoned. `why` is the reason of the drop, else "".
    """

    model: str
    replica: str
    standing: str
    microusd: int | None = None
    terms: tuple[Term, ...] = ()
    why: str = ""


def explain(decision: Decision) -> tuple[Row, ...]:
    """Rows in the order of asking, then the candidates that would not be asked, then the dropped.

    >>> [row.standing for row in explain(Decision(steps=(Call("small", "a"), Call("large", "b")), route="default",
    ...     reason="", policy_hash="", candidates=(Candidate("large", "b"), Candidate("small", "a"))))]
    ['chosen', 'fallback 1']
    """
    order = {step: place for place, step in enumerate(decision.steps) if not isinstance(step, Reject)}
    last = len(order)
    ranked = sorted(decision.candidates, key=lambda candidate: order.get(_call(candidate), last))
    return (*(_candidate(c, order.get(_call(c))) for c in ranked), *(_dropped(drop) for drop in decision.dropped))


def held_back(decision: Decision) -> str:
    """Whose answers are held back, in one line; why none are; or "" on a route that does not escalate.

    >>> from policies.decision import Hold
    >>> held_back(Decision(steps=(Call("small", "a"),), route="r", reason="", policy_hash="",
    ...     hold=Hold("careful", ("small",), (Call("large", "b"),))))
    'answers of small are held back until careful has judged them; large takes over'
    """
    hold = decision.hold
    if hold is None:
        return f"nothing is held back: {decision.unheld}" if decision.unheld else ""
    too = f" with {hold.second.model}" if hold.second else ""
    weighed = f", weighed as {hold.weighed_as}" if hold.weighed_as else ""
    judged = f"answers of {', '.join(hold.of)} are held back until {hold.escalation} has judged them{too}{weighed}"
    return f"{judged}; {hold.to[0].model} takes over"


def raced(decision: Decision) -> str:
    """Who is asked beside a first choice that says nothing, in one line; why nobody is; or "" where the policy does not hedge.

    >>> from policies.decision import Hedge
    >>> raced(Decision(steps=(Call("m", "a"),), route="r", reason="", policy_hash="", hedge=Hedge((Call("m", "b"),), 0.8)))
    'after 0.8 s of silence b is asked as well'
    """
    hedge = decision.hedge
    if hedge is None:
        return f"nobody is asked as well: {decision.unhedged}" if decision.unhedged else ""
    return f"after {hedge.after_s:g} s of silence {hedge.to[0].replica} is asked as well"


def unheeded(decision: Decision) -> str:
    """Who of those asked is not told how much the client wants to be thought, in one line; or "".

    >>> unheeded(Decision(steps=(Call("small", "a"),), route="r", reason="", policy_hash="", untold=("small",)))
    'not told how much to think: small'
    """
    return f"not told how much to think: {', '.join(decision.untold)}" if decision.untold else ""


def told_by(estimate: Estimate) -> str:
    """Which stage answered, in a few words, and how far the quick one left it open; or "" where there is but one.

    >>> told_by(Estimate(stage="quick", ends=({"small": 0.9}, {"small": 0.8})))
    'quick: small 0.900 to 0.800 come to one model'
    """
    if estimate.ends is None:
        return ""
    low, high = estimate.ends
    spans = ", ".join(f"{head} {low[head]:.3f} to {high[head]:.3f}" for head in low)
    parted = "come to one model" if estimate.stage == "quick" else "left it open, so the text was embedded"
    return f"{estimate.stage}: {spans} {parted}"


def _call(candidate: Candidate) -> Call:
    return Call(candidate.model, candidate.replica)


def _candidate(candidate: Candidate, place: int | None) -> Row:
    standing = "not asked" if place is None else f"fallback {place}" if place else "chosen"
    return Row(
        model=candidate.model,
        replica=candidate.replica,
        standing=standing,
        microusd=candidate.microusd,
        terms=candidate.terms,
    )


def _dropped(drop: Dropped) -> Row:
    return Row(model=drop.model, replica=drop.replica, standing=f"dropped: {drop.filter}", why=drop.reason)
