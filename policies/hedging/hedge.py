"""Who is asked besides, when, and why nobody is."""

from collections.abc import Sequence

import msgspec

from policies.decision import Call, Decision, Hedge
from policies.facts import Facts
from policies.hedging.plan import PERCENT, Hedging
from policies.snapshot import ReplicaState, Snapshot

ALONE = "no other replica of it may answer"
WHOLE = "an answer that leaves in one piece is not raced"
HELD = "its answer is held back"


def hedged(hedging: Hedging, decision: Decision, facts: Facts, snapshot: Snapshot) -> Decision:
    """The decision with the hedge of its first choice, or with why it has none."""
    choice = decision.choice
    if not isinstance(choice, Call):
        return decision
    if not facts.stream:
        return msgspec.structs.replace(decision, unhedged=WHOLE)
    if decision.hold is not None and choice.model in decision.hold.of:
        return msgspec.structs.replace(decision, unhedged=HELD)
    found = raced(hedging, choice, others_of(choice, decision), snapshot)
    return msgspec.structs.replace(decision, **{"hedge" if isinstance(found, Hedge) else "unhedged": found})


def raced(hedging: Hedging, choice: Call, others: tuple[Call, ...], snapshot: Snapshot) -> Hedge | str:
    """The hedge of a streamed answer, or why there is none."""
    if not others:
        return ALONE
    after_s = hedging.after_s or snapshot.ttfts.get(choice.model, 0.0)
    if not after_s:
        return f"{hedging.told} is not known yet for prompts of this length"
    share = busy(snapshot.replicas.get(choice.model, ()))
    if share > hedging.busy_over:
        return f"{PERCENT * share:.0f}% of its replicas are busy"
    return Hedge(others, round(after_s, 3))


def others_of(choice: Call, decision: Decision) -> tuple[Call, ...]:
    """The other replicas of its model that may answer, the best first."""
    same = [Call(c.model, c.replica) for c in decision.candidates if c.model == choice.model]
    return tuple([call for call in same if call != choice])


def busy(states: Sequence[ReplicaState]) -> float:
    """The share of replicas before which prompts wait, or that cannot be asked.

    >>> busy([ReplicaState(replica="a", queued_tokens=9), ReplicaState(replica="b"), ReplicaState(replica="c", rests="x")])
    0.6666666666666666
    """
    if not states:
        return 0.0
    return sum([state.queued_tokens > 0 or not state.ready or bool(state.rests) for state in states]) / len(states)
