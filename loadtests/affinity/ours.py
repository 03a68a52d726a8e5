"""Turnout's own way: its `decide`, index, count of work and what it learns of servers, all as they are, by a virtual clock."""

from gateway.live.replicas import Claim, Replica
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
        self._index = MemoryResidency(INDEX_BLOCKS, self._clock)
        self._replicas = {name: self._fresh(name) for name in fleet.names}
        self._claims: dict[int, tuple[Claim, int]] = {}
        self._seed = seed(MODEL, b"tenant")

    def _clock(self) -> float:
        return self._fleet.now

    def _fresh(self, name: str) -> Replica:
        return Replica(MODEL, name, name, clock=self._clock)

    def choose(self, arrival: Arrival) -> tuple[str, int]:
        keys = self._keys(arrival)
        held = self._index.held_now(keys, self._fleet.names)
        states = {name: self._state(self._replicas[name], arrival, keys, held[name]) for name in self._fleet.names}
        facts = Facts(prompt_tokens=arrival.prompt_tokens, prefix=keys[0].hex())
        name = self._decide(facts, tuple(states.values()))
        chosen = states[name]
        self._index.expect(name, keys, min(SPECULATIVE_TTL_S, self._replicas[name].keeps.ttl_s))
        claim = Claim(self._replicas[name], arrival.prompt_tokens, chosen.resident_tokens, keys)
        self._claims[id(arrival)] = claim, chosen.sent_tokens
        return name, arrival.prompt_tokens - chosen.resident_tokens

    def answered(self, job: Job) -> None:
        name, keeps = job.replica, self._replicas[job.replica].keeps
        claim, sent_before = self._claims[id(job.arrival)]
        claim.prefilled()
        if keeps.was_reused(sent_before, job.cached):
            self._index.forget_now(name)
        self._index.learn_now(name, self._keys(job.arrival), keeps.ttl_s)

    def ended(self, job: Job) -> None:
        claim, _ = self._claims.pop(id(job.arrival))
        claim.release()

    def lost(self, replica: str) -> None:
        self._index.forget_now(replica)
        self._replicas[replica] = self._fresh(replica)

    def _decide(self, facts: Facts, states: tuple[ReplicaState, ...]) -> str:
        chosen = decide(self._policy, facts, Estimate(), Snapshot(replicas={MODEL: states}, now=self._fleet.now)).choice
        if not isinstance(chosen, Call):
            raise AssertionError(f"no replica is ready: {chosen}")
        return chosen.replica

    def _state(self, replica: Replica, arrival: Arrival, keys: tuple[bytes, ...], held: int) -> ReplicaState:
        sent, work = min(held * BLOCK_TOKENS, arrival.prompt_tokens), replica.work()
        return ReplicaState(
            replica=replica.name,
            running=work.running,
            queued_tokens=work.queued_tokens,
            resident_tokens=replica.keeps.believed(sent),
            sent_tokens=sent,
            prefill_tokens_per_s=replica.prefills.tokens_per_s,
            alike=replica.crowds.alike(keys, held),
        )

    def _keys(self, arrival: Arrival) -> tuple[bytes, ...]:
        return chain(self._seed, [block.to_bytes(8, "little", signed=True) for block in arrival.blocks])
