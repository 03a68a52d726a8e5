"""Which replicas of a model are up?"""

from policies.catalogue import Model
from policies.snapshot import ReplicaState, Snapshot


def states(model: Model, snapshot: Snapshot) -> tuple[ReplicaState, ...]:
    """State of every replica of `model`. One that the snapshot does not know counts as ready and idle; where replicas are
    found, those are all that the snapshot knows.

    >>> states(Model(name="small", at=("a",)), Snapshot(replicas={}))[0].ready
    True
    """
    seen, replicas = snapshot.replicas.get(model.name, ()), model.replicas
    if model.found_by:
        return seen
    if len(seen) == len(replicas):
        for at, state in enumerate(seen):
            if state.replica != replicas[at]:
                break
        else:
            return seen
    known = {state.replica: state for state in seen}
    return tuple(known.get(replica) or ReplicaState(replica=replica) for replica in replicas)


def why_down(state: ReplicaState) -> str:
    """Why this replica takes no work, or "".

    >>> why_down(ReplicaState(replica="a", ready=False))
    'not ready'
    """
    return "" if state.ready else state.why_not or "not ready"
