"""What a snapshot says of replicas is what would be reckoned of them anew, whatever was kept from the snapshot before."""

from dataclasses import dataclass, field
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from backends.upstream import Load, Prepared
from gateway.live.in_force import Live
from gateway.live.replicas import Claim, Replica
from gateway.live.trust import eased
from gateway.request.snapshot import World, take_snapshot
from gateway.state.memory import MemoryResidency
from gateway.state.residency import NO_WORK, WORK_LIFE_S, Seen, Work
from policies.policy import Policy
from policies.snapshot import ReplicaState

NAMES = ("a", "b", "c")
BLOCKS = tuple(bytes([n]) for n in range(12))
PROMPT = Prepared(tokens=1_500, exact=False, blocks=BLOCKS, block_tokens=128)
POLICY = Policy(hash="h", name="p", models={}, routes=())


@dataclass
class Server:
    """`holds` is None where it says nothing of what it holds."""

    told: Load = field(default_factory=Load)
    holds: int | None = None

    def load(self) -> Load:
        return self.told

    def resident_tokens(self, prepared: Prepared) -> int | None:
        return self.holds


@dataclass
class Fleet:
    """Three replicas: of two nobody knows what they hold, the third may tell."""

    now: float = 100.0
    claims: list[Claim] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.servers = [Server() for _ in NAMES]
        self.replicas = tuple(
            Replica("m", name, name, upstream=server, clock=self.clock, reads_as=None if name == "c" else "m")  # type: ignore[arg-type]
            for name, server in zip(NAMES, self.servers, strict=True)
        )
        self.live = Live(POLICY, {"m": self.replicas, "alone": self.replicas[:1]})
        self.world = World(MemoryResidency(10, self.clock), self.clock)

    def clock(self) -> float:
        return self.now

    def play(self, verb: str, which: int, amount: int) -> None:
        replica, server = self.replicas[which], self.servers[which]
        match verb:
            case "claim":
                self.claims.append(Claim(replica, 400 * amount, 100 * amount, BLOCKS[:amount]))
            case "speak" | "release" if self.claims:
                claim = self.claims[amount % len(self.claims)]
                claim.prefilled(at_once=which > 0) if verb == "speak" else claim.release()
            case "wait":
                self.now += amount / 4
            case "told":
                server.told = Load(running=amount, queued_tokens=90 * amount, others_running=amount // 2)
            case "down":
                server.told = Load(ready=False, why_not="it rests")
            case "others":
                replica.hear_of_others(Work(amount, 100 * amount, 50) if amount else NO_WORK)
            case "fails":
                replica.trust.failed("absent" if amount % 2 else "failing")
            case "full":
                replica.trust.full(amount)
            case "answers":
                replica.trust.answered()
            case "reused":
                replica.keeps.was_reused(200 * amount, 70 * amount)
            case "holds":
                self.servers[-1].holds = 100 * amount if amount else None
            case "lacks":
                replica.lacks = "a key" * (amount % 2)


def states_of(group: tuple[Replica, ...], measured: Prepared | None, seen: Seen) -> tuple[ReplicaState, ...]:
    """Everything anew, one replica after another."""
    states = tuple(state_of(replica, measured, seen) for replica in group)
    if len(group) == 1:
        return states
    return eased(states, tuple(replica.trust.share(state.ready) for replica, state in zip(group, states, strict=True)))


def state_of(replica: Replica, measured: Prepared | None, seen: Seen) -> ReplicaState:
    load = load_of(replica)
    known = replica.upstream.resident_tokens(measured) if measured and replica.upstream else None
    told = min(seen.depths.get(replica.name, 0) * measured.block_tokens, measured.tokens) if measured else 0
    sent = told if known is None else known
    alike = 0
    if measured is not None and sent:
        depth = min(sent // measured.block_tokens, len(measured.blocks))
        alike = replica.crowds.alike(measured.blocks, depth)
    return ReplicaState(
        replica=replica.name,
        ready=load.ready,
        why_not=load.why_not,
        rests=replica.trust.why_out() if load.ready else "",
        queued_tokens=load.queued_tokens,
        running=load.running,
        active_tokens=load.active_tokens,
        resident_tokens=replica.keeps.believed(sent) if known is None else known,
        sent_tokens=sent,
        prefill_tokens_per_s=replica.prefills.tokens_per_s,
        knows_residency=known is not None,
        alike=alike + (seen.alike.get(replica.name, 0) if measured is not None else 0),
    )


def load_of(replica: Replica) -> Load:
    if replica.lacks or replica.upstream is None:
        own = Load(ready=False, why_not=replica.lacks)
    else:
        own = replica.upstream.load()
    now = replica.clock()
    others = replica.others.work if now - replica.others.heard_at < WORK_LIFE_S else NO_WORK
    if not replica.running and others is NO_WORK:
        return own
    waiting = max(own.queued_tokens - own.others_queued_tokens, replica.queued_tokens) - replica.prefills.computed(now)
    return Load(
        ready=own.ready,
        why_not=own.why_not,
        running=max(own.running - own.others_running, replica.running) + max(own.others_running, others.running),
        queued_tokens=waiting + max(own.others_queued_tokens, others.queued_tokens),
        active_tokens=max(own.active_tokens, replica.active_tokens + others.active_tokens),
    )


VERBS = (
    "claim",
    "speak",
    "release",
    "wait",
    "told",
    "down",
    "others",
    "fails",
    "full",
    "answers",
    "reused",
    "holds",
    "lacks",
)
steps = st.tuples(st.sampled_from([*VERBS, *(VERBS[:4] * 4)]), st.integers(0, 2), st.integers(0, 12))
depths, alike = (st.fixed_dictionaries({}, optional=dict.fromkeys(NAMES, st.integers(0, 12))) for _ in range(2))


@settings(max_examples=120)
@given(st.lists(st.tuples(steps, st.booleans(), depths, alike), min_size=12, max_size=40))
def test_a_snapshot_says_what_would_be_reckoned_anew(history: list[Any]) -> None:
    """Of two fleets with the same history one is looked at by the gateway, the other by the slow way above."""
    kept, anew = Fleet(), Fleet()
    for step, is_measured, held, others in history:
        seen = Seen(held, alike=others)
        kept.play(*step)
        anew.play(*step)
        measured = PROMPT if is_measured else None
        prepared = {"m": PROMPT, "alone": PROMPT} if is_measured else {}

        found = take_snapshot(kept.live, prepared, {"m": seen, "alone": seen}, kept.world)

        assert found.replicas["m"] == states_of(anew.replicas, measured, seen)
        assert found.replicas["alone"] == states_of(anew.replicas[:1], measured, seen)


def test_who_nothing_has_happened_to_has_the_very_same_state_again() -> None:
    fleet = Fleet()
    before = take_snapshot(fleet.live, {}, {}, fleet.world).replicas["m"]

    Claim(fleet.replicas[1], 100)
    fleet.now += 1
    after = take_snapshot(fleet.live, {}, {}, fleet.world).replicas["m"]

    assert [one is other for one, other in zip(before, after, strict=True)] == [True, False, True]
    assert after[1].running == 1


def test_what_waits_is_computed_from_look_to_look_and_stands_when_it_is_done() -> None:
    fleet = Fleet()
    first = Claim(fleet.replicas[0], 4_000)
    fleet.now += 2
    first.prefilled()
    first.release()
    Claim(fleet.replicas[0], 4_000)

    seen = []
    for waited_s in (0.0, 0.5, 1.0, 0.5, 1.0):
        fleet.now += waited_s
        seen.append(take_snapshot(fleet.live, {}, {}, fleet.world).replicas["m"][0])

    assert [state.queued_tokens for state in seen] == [4_000, 3_000, 1_000, 0, 0]
    assert seen[3] is seen[4]


def test_who_ceases_to_rest_in_the_middle_of_a_look_is_not_at_rest_for_ever() -> None:
    """The clock goes on while it is looked at: a hundredth of a second each time that it is read."""
    for early in range(1, 20):
        fleet = Creeping()
        fleet.replicas[0].trust.full(5.0)
        fleet.now += 5.0 - early / 100
        take_snapshot(fleet.live, {}, {}, fleet.world)
        fleet.now += 100

        states = take_snapshot(fleet.live, {}, {}, fleet.world).replicas["m"]

        assert [state.rests for state in states] == ["", "", ""], early


def test_who_is_alone_is_at_ease_again_when_it_has_rested() -> None:
    fleet = Fleet()
    live = Live(POLICY, {"alone": fleet.replicas[:1]})
    fleet.replicas[0].trust.full(5.0)
    take_snapshot(live, {}, {}, fleet.world)
    fleet.now += 100

    states = [take_snapshot(live, {}, {}, fleet.world).replicas["alone"][0] for _ in range(3)]

    assert states[1] is states[2]


@dataclass
class Creeping(Fleet):
    """Time passes with each look at it."""

    def clock(self) -> float:
        self.now += 0.01
        return self.now
