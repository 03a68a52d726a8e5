"""Replicas at rest are left alone while anybody else may answer, and make no difference where nobody may."""

from collections.abc import Mapping

import msgspec
from deciding_world import LARGE, MEDIUM, SMALL, policy
from hypothesis import given
from hypothesis import strategies as st

from policies.decide import decide
from policies.decision import Call, Decision
from policies.estimates import Estimate
from policies.facts import Facts
from policies.snapshot import ReplicaState, Snapshot

MODELS = {
    name: msgspec.structs.replace(m, at=("http://a", "http://b"))
    for name, m in (("small", SMALL), ("medium", MEDIUM), ("large", LARGE))
}
UNSURE = Estimate(abstains="nobody knows")

states = st.builds(
    lambda ready, rests, running: {"ready": ready, "rests": "it is at its limit" if rests else "", "running": running},
    st.booleans(),
    st.booleans(),
    st.integers(0, 9),
)
worlds = st.fixed_dictionaries({name: st.tuples(states, states) for name in MODELS})


def snapshot_of(world: Mapping[str, tuple[dict[str, object], ...]]) -> Snapshot:
    return Snapshot(
        replicas={
            name: tuple(
                msgspec.convert({"replica": at, **state}, ReplicaState)
                for at, state in zip(MODELS[name].at, group, strict=True)
            )
            for name, group in world.items()
        }
    )


def decided(snapshot: Snapshot, requested: str = "auto") -> Decision:
    return decide(policy(*MODELS.values()), Facts(requested=requested, prompt_tokens=10), UNSURE, snapshot)


@given(worlds)
def test_who_rests_is_asked_only_where_everybody_does(world: Mapping[str, tuple[dict[str, object], ...]]) -> None:
    snapshot = snapshot_of(world)
    up = {(name, s.replica): s for name, group in snapshot.replicas.items() for s in group if s.ready}
    everybody = all(state.rests for state in up.values())

    decision = decided(snapshot)

    asked = [step for step in decision.steps if isinstance(step, Call)]
    assert bool(asked) == bool(up)
    assert everybody or not any(up[step.model, step.replica].rests for step in asked)
    left = {(drop.model, drop.replica) for drop in decision.dropped if drop.reason == "it is at its limit"}
    assert left == (set() if everybody else {key for key, state in up.items() if state.rests})


@given(worlds)
def test_where_everybody_rests_it_is_as_if_nobody_did(world: Mapping[str, tuple[dict[str, object], ...]]) -> None:
    resting = {name: tuple({**s, "rests": "it is at its limit"} for s in group) for name, group in world.items()}
    awake = {name: tuple({**s, "rests": ""} for s in group) for name, group in world.items()}

    assert decided(snapshot_of(resting)) == decided(snapshot_of(awake))


@given(worlds, st.sampled_from(sorted(MODELS)))
def test_a_model_that_is_named_is_asked_though_others_are_awake(
    world: Mapping[str, tuple[dict[str, object], ...]], name: str
) -> None:
    decision = decided(snapshot_of(world), requested=name)

    asked = {step.model for step in decision.steps if isinstance(step, Call)}
    assert asked == ({name} if any(state["ready"] for state in world[name]) else set())
