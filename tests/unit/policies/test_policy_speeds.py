"""Replicas of one model that are not equally fast: the same queue is a longer wait at the slower one."""

from hypothesis import given
from hypothesis import strategies as st

from policies.snapshot import ReplicaState
from policies.terms.cost import Rates
from policies.terms.wait import wait
from policies.weigh import ALIKE, slowness

RATES = Rates(bad_answer=0.0, second=100.0)
speeds = st.one_of(st.just(0.0), st.floats(1.0, 1e6))


def at(*tokens_per_s: float) -> list[ReplicaState]:
    return [ReplicaState(replica=str(n), prefill_tokens_per_s=speed) for n, speed in enumerate(tokens_per_s)]


@given(st.lists(speeds, min_size=1, max_size=8))
def test_nobody_is_faster_than_the_fastest_and_who_is_unknown_is_no_slower(found: list[float]) -> None:
    slow = slowness(at(*found))
    assert all(time == 1.0 or time > ALIKE for time in slow)
    assert all(time == 1.0 for time, speed in zip(slow, found, strict=True) if speed in (0.0, max(found)))


@given(st.lists(st.floats(1_000, 1_000 * ALIKE), min_size=1, max_size=8))
def test_speeds_that_differ_by_chance_tell_no_replica_apart(found: list[float]) -> None:
    assert set(slowness(at(*found))) == {1.0}


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.floats(ALIKE, 100), st.floats(1.0, 10))
def test_the_slower_the_longer(queued: int, uncached: int, slow: float, more: float) -> None:
    fast, slower = wait(RATES, queued, uncached), wait(RATES, queued, uncached, slow)
    assert fast.microusd <= slower.microusd <= wait(RATES, queued, uncached, slow * more).microusd + 1e-6
    whole_s = slow * (queued + uncached) / 2_000
    assert abs((slower.microusd / RATES.second + uncached / 2_000) - whole_s) <= 1e-6 * max(1.0, whole_s)
