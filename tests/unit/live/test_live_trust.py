"""Replicas that fail are left alone for a while, and those that come back are given work by degrees."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.live.keeps import MISSES_IN_A_ROW, SHORTEST_S, Keeps
from gateway.live.trust import (
    FAILURES_IN_A_ROW,
    FIRST_PAUSE_S,
    LEAST_SHARE,
    LONGEST_PAUSE_S,
    LONGEST_WAIT_S,
    WARM_UP_S,
    Trust,
    eased,
)
from gateway.state.residency import CONFIRMED_TTL_S, MAX_TTL_S
from policies.snapshot import ReplicaState


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_it_takes_failures_in_a_row_to_be_left_alone():
    trust = Trust(Clock())

    for _ in range(10):
        for _ in range(FAILURES_IN_A_ROW - 1):
            trust.failed("failing")
        assert not trust.why_out()
        trust.answered()

    for _ in range(FAILURES_IN_A_ROW):
        trust.failed("failing")
    assert trust.why_out() == "it failed 3 times in a row; left alone for 1 s"


def test_who_says_when_to_come_back_is_believed_whatever_else_it_answers_but_not_for_ever():
    clock = Clock()
    trust = Trust(clock)

    trust.full(20.0)
    trust.answered()
    trust.full(5.0)
    assert trust.why_out() == "it said that it is at its limit; left alone for 20 s"
    clock.now += 20.0
    assert not trust.why_out()

    trust.full(1e9)
    clock.now += LONGEST_WAIT_S
    assert not trust.why_out()


def test_a_rest_that_it_asked_for_is_followed_by_no_warming_up():
    clock = Clock()
    trust = Trust(clock)

    trust.full(1.0)
    clock.now += 1.0
    trust.answered()

    assert trust.share(True) == 1.0


def test_where_nobody_listens_one_failure_is_enough():
    trust = Trust(Clock())

    trust.failed("absent")

    assert trust.why_out().startswith("nobody listens there")


def test_pauses_double_up_to_a_bound_and_begin_anew_after_an_answer():
    clock = Clock()
    trust, pauses = Trust(clock), []

    for _ in range(8):
        trust.failed("absent")
        began = clock.now
        while trust.why_out():
            clock.now += 0.5
        pauses.append(clock.now - began)
    trust.answered()
    trust.failed("absent")

    assert pauses == [1, 2, 4, 8, 16, 30, 30, 30]
    assert pauses[0] == FIRST_PAUSE_S
    assert pauses[-1] == LONGEST_PAUSE_S
    assert trust.why_out().endswith("for 1 s")


def test_of_a_crowd_that_fails_together_one_failure_counts():
    clock = Clock()
    trust = Trust(clock)

    for _ in range(50):
        trust.failed("absent")
    clock.now += FIRST_PAUSE_S

    assert not trust.why_out()


def test_a_replica_that_is_ready_again_reaches_its_share_by_degrees():
    clock = Clock()
    trust = Trust(clock)
    assert trust.share(is_ready=True) == 1.0

    trust.share(is_ready=False)
    shares = []
    for _ in range(12):
        shares.append(trust.share(is_ready=True))
        clock.now += 1.0

    assert shares[0] == LEAST_SHARE
    assert shares == sorted(shares)
    assert shares[round(WARM_UP_S)] == 1.0


def test_one_that_was_just_found_begins_small_too():
    assert Trust(Clock(), is_new=True).share(is_ready=True) == LEAST_SHARE


def test_among_replicas_that_are_all_new_nobody_is_held_back():
    states = (ReplicaState(replica="a", running=3), ReplicaState(replica="b"))

    assert eased(states, (0.1, 0.1)) == states


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=6),
    st.floats(0.1, 0.99),
)
def test_least_load_gives_a_cold_replica_its_share_of_the_mean_and_no_more(warm: list[int], share: float):
    running, mean = 0, sum(warm) / len(warm)
    states = [ReplicaState(replica=str(n), running=work) for n, work in enumerate(warm)]

    while running < 60:
        cold = eased((*states, ReplicaState(replica="cold", running=running)), (*[1.0] * len(warm), share))[-1]
        if cold.running > mean:
            break
        running += 1

    assert running <= share * mean + 1


def test_a_server_that_keeps_what_it_has_is_believed_for_longer_and_never_for_ever():
    keeps = Keeps()

    for _ in range(50):
        assert not keeps.was_reused(1_000, 990)

    assert keeps.ttl_s == MAX_TTL_S


def test_a_server_that_evicts_is_believed_for_a_shorter_time():
    keeps = Keeps()
    keeps.was_reused(1_000, 1_000)

    for _ in range(30):
        assert not keeps.was_reused(1_000, 100)

    assert keeps.ttl_s == SHORTEST_S


def test_a_server_that_never_tells_of_cached_tokens_changes_nothing():
    keeps = Keeps()

    assert not any(keeps.was_reused(4_000, 0) for _ in range(20))
    assert keeps.ttl_s == CONFIRMED_TTL_S


def test_a_cache_of_which_nothing_at_all_is_left_several_times_over_is_gone():
    keeps = Keeps()
    keeps.was_reused(1_000, 900)

    told = [keeps.was_reused(1_000, 0) for _ in range(MISSES_IN_A_ROW)]
    short = [keeps.was_reused(100, 0) for _ in range(20)]

    assert told == [False, False, True]
    assert not any(short), "a short prompt says nothing"


def test_who_is_at_ease_is_left_alone_for_nothing_and_has_its_full_share():
    clock = Clock()
    trust = Trust(clock)
    trust.failed("absent")
    clock.now += FIRST_PAUSE_S + 1
    shares = [trust.share(is_ready=True)]
    assert (trust.why_out(), trust.is_at_ease) == ("", True)

    trust.answered()
    seen = [trust.is_at_ease]
    for _ in range(2):
        clock.now += WARM_UP_S / 2
        shares.append(trust.share(is_ready=True))
        seen.append(trust.is_at_ease)

    assert (shares, seen) == ([1.0, pytest.approx(0.6), 1.0], [False, False, True])
