"""Which replicas of a model are up?"""

from collections.abc import Sequence

from policies.offer import Offered
from policies.snapshot import ReplicaState, Snapshot


def states(offered: Offered, snapshot: Snapshot) -> tuple[tuple[ReplicaState, ...], bool]:
    """State of every replica of a model, and whether all of them take work and none rests. One that the snapshot does not know
    counts as ready and idle; where replicas are found, those are all that the snapshot knows.

    >>> from policies.catalogue import Model
    >>> from policies.offer import offered
    >>> from policies.policy import PINNED
    >>> [state], is_plain = states(offered(PINNED, Model(name="small", at=("a",))), Snapshot(replicas={}))
    >>> state.ready, is_plain
    (True, True)
    """
    model, listed = offered.model, offered.calls
    seen = snapshot.replicas.get(model.name, ())
    if model.found_by:
        return seen, is_whole(seen)
    if len(seen) == len(listed):
        at = 0
        for state in seen:
            if state.replica != listed[at].replica or not state.ready or state.rests:
                break
            at += 1  # noqa: SIM113  enumerate takes as long as the loop
        else:
            return seen, True
    known = {state.replica: state for state in seen}
    found = tuple([known.get(call.replica) or ReplicaState(replica=call.replica) for call in listed])
    return found, is_whole(found)


def is_whole(found: Sequence[ReplicaState]) -> bool:
    return bool(found) and all(state.ready and not state.rests for state in found)


def why_down(state: ReplicaState) -> str:
    """Why this replica takes no work, or "".

    >>> why_down(ReplicaState(replica="a", ready=False))
    'not ready'
    """
    return "" if state.ready else state.why_not or "not ready"
