"""A replica's load: our own to the instant, others' as last heard, and every claim given back exactly once."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from backends.upstream import Load
from gateway.live.replicas import Claim, Replica
from gateway.state.residency import WORK_LIFE_S, Work


@dataclass
class Upstream:
    told: Load

    def load(self) -> Load:
        return self.told


class Clock:
    now = 50.0

    def __call__(self) -> float:
        return self.now


def replica(told: Load | None = None, clock: Clock | None = None) -> Replica:
    return Replica("m", "a", "a", upstream=Upstream(told or Load()), clock=clock or Clock())  # type: ignore[arg-type]


def test_of_a_prompt_only_what_is_not_resident_waits_and_all_of_it_is_read_afterwards():
    there = replica()

    claim = Claim(there, tokens=1_000, resident_tokens=900)
    waiting = there.work()
    claim.prefilled()
    claim.prefilled()
    answering = there.work()
    claim.release()
    claim.release()
    claim.prefilled()

    assert waiting == Work(1, 100, 0)
    assert answering == Work(1, 0, 1_000)
    assert there.work() == Work()


@given(st.lists(st.tuples(st.integers(0, 4), st.sampled_from(["claim", "prefilled", "release"])), max_size=40))
def test_whatever_becomes_of_the_claims_nothing_is_left_in_the_end(steps: list[tuple[int, str]]):
    told: list[Work] = []
    there = replica()
    there.tells = lambda changed: told.append(changed.work())
    claims: dict[int, Claim] = {}

    for number, what in steps:
        if what == "claim" and number not in claims:
            claims[number] = Claim(there, 100 * number, 30 * number)
        elif number in claims:
            getattr(claims[number], "release" if what == "claim" else what)()
    for claim in claims.values():
        claim.release()

    assert there.work() == Work()
    assert all(min(work[:3]) >= 0 for work in told)
    assert not told or told[-1] == Work(), "whoever is told hears of the end"


def test_others_work_adds_to_ours_and_is_forgotten_when_it_is_not_heard_again():
    clock = Clock()
    there = replica(clock=clock)
    Claim(there, 200)

    there.hear_of_others(Work(3, 500, 9_000))
    with_others = there.load()
    clock.now += WORK_LIFE_S + 1
    alone = there.load()

    assert (with_others.running, with_others.queued_tokens, with_others.active_tokens) == (4, 700, 9_000)
    assert (alone.running, alone.queued_tokens) == (1, 200)


def test_what_the_replica_and_the_store_both_tell_of_others_counts_once():
    there = replica(Load(running=5, queued_tokens=600, others_running=4, others_queued_tokens=500))
    Claim(there, 100)

    there.hear_of_others(Work(3, 800, 0))

    load = there.load()
    assert (load.running, load.queued_tokens) == (1 + 4, 100 + 800)
