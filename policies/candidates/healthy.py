"""Which replicas of a model are up?"""

from policies.catalogue import Model
from policies.snapshot import ReplicaState, Snapshot


def states(model: Model, snapshot: Snapshot) -> tuple[ReplicaState, ...]:
    """State of every replica of `model`. One that the snapshot does not know counts as ready and idle; where replicas are
    found, those are all that the snapshot knows.

    >>> states(Model(name="small", at=("a",)), Snapshot(replicas={}))[0].ready
    True
    """
    if model.found_by:
        return snapshot.replicas.get(model.name, ())
    seen = snapshot.replicas.get(model.name, ())
    if tuple([state.replica for state in seen]) == model.replicas:
        return seen
    known = {state.replica: state for state in seen}
    return tuple(known.get(replica) or ReplicaState(replica=replica) for replica in model.replicas)


def why_down(state: ReplicaState) -> str:
    """Why this replica takes no work, or "".

    >>> why_down(ReplicaState(replica="a", ready=False))
    'not ready'
    """
    return "" if state.ready else state.why_not or "not ready"
