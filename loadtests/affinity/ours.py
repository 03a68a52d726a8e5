"""Turnout's own way: its `decide`, its index and what it learns of servers as they are, by a virtual clock."""

from collections.abc import Mapping

from gateway.live.keeps import Keeps
from gateway.live.waiting import Waiting
from gateway.state.memory import MemoryResidency
from gateway.state.residency import SPECULATIVE_TTL_S
from loadtests.affinity.fleet import Fleet
from loadtests.affinity.replica import Job
from loadtests.affinity.traces import BLOCK_TOKENS, Arrival
from policies.affinity.blocks import chain, seed
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Calibration, Estimate
from policies.facts import Facts
from policies.language.load import load_policy
from policies.policy import Policy
from policies.snapshot import ReplicaState, Snapshot

INDEX_BLOCKS = 1_000_000
MODEL = "m"


def policy_over(addresses: tuple[str, ...]) -> Policy:
    """One model of that many replicas, and what a file says by default."""
    text = f"policy: 1\nmodels: {{{MODEL}: {{at: [{', '.join(addresses)}]}}}}\nroutes: [{{use: {MODEL}}}]\n"
    loaded = load_policy(text, name="affinity", calibrate=_no_artefact)
    if loaded.policy is None:
        raise ValueError("; ".join(str(problem) for problem in loaded.problems))
    return loaded.policy


def _no_artefact(name: str) -> Calibration:
    raise ValueError(f"no route chooses by difficulty, and {name} was asked for")


class Ours:
    """Replicas are remote servers: what they hold is guessed from what they were sent, and corrected by what they say."""

    def __init__(self, fleet: Fleet) -> None:
        self._fleet = fleet
        self._policy = policy_over(fleet.names)
        self._index = MemoryResidency(INDEX_BLOCKS, lambda: fleet.now)
        self._keeps = {name: Keeps() for name in fleet.names}
        self._waiting = {name: Waiting() for name in fleet.names}
        self._marks: dict[int, tuple[bytes, ...]] = {}
        self._seed = seed(MODEL, b"tenant")

    def choose(self, arrival: Arrival) -> tuple[str, int]:
        keys = self._keys(arrival)
        held = self._index.held_now(keys, self._fleet.names)
        facts = Facts(prompt_tokens=arrival.prompt_tokens, prefix=keys[0].hex())
        name = self._decide(facts, self._states(arrival, keys, held))
        self._index.learn_now(name, keys, SPECULATIVE_TTL_S)
        self._marks[id(arrival)] = self._waiting[name].come(keys)
        return name, arrival.prompt_tokens - _resident(arrival, held[name])

    def answered(self, job: Job) -> None:
        name, keeps = job.replica, self._keeps[job.replica]
        self._waiting[name].go(self._marks.pop(id(job.arrival), ()))
        if keeps.was_reused(job.arrival.prompt_tokens - job.uncached, job.cached):
            self._index.forget_now(name)
        self._index.learn_now(name, self._keys(job.arrival), keeps.ttl_s)

    def lost(self, replica: str) -> None:
        self._index.forget_now(replica)
        self._waiting[replica] = Waiting()

    def _decide(self, facts: Facts, states: tuple[ReplicaState, ...]) -> str:
        chosen = decide(self._policy, facts, Estimate(), Snapshot(replicas={MODEL: states}, now=self._fleet.now)).choice
        if not isinstance(chosen, Call):
            raise AssertionError(f"no replica is ready: {chosen}")
        return chosen.replica

    def _states(self, arrival: Arrival, keys: tuple[bytes, ...], held: Mapping[str, int]) -> tuple[ReplicaState, ...]:
        return tuple(
            ReplicaState(
                replica=name,
                running=load.running,
                queued_tokens=load.queued_tokens,
                resident_tokens=_resident(arrival, held[name]),
                alike=self._waiting[name].alike(keys, held[name]),
                waiting=self._waiting[name].prompts,
            )
            for name, load in self._fleet.loads.items()
        )

    def _keys(self, arrival: Arrival) -> tuple[bytes, ...]:
        return chain(self._seed, [block.to_bytes(8, "little", signed=True) for block in arrival.blocks])


def _resident(arrival: Arrival, blocks: int) -> int:
    return min(blocks * BLOCK_TOKENS, arrival.prompt_tokens)
