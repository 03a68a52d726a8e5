"""What waits at a replica is less than what was sent by what it had time for, at the speed that it was seen to have."""

from hypothesis import given
from hypothesis import strategies as st

from backends.upstream import Load
from gateway.live.prefills import REMEMBERED, Prefills
from gateway.live.replicas import Claim, Replica
from gateway.state.residency import Work


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


class Upstream:
    def __init__(self, told: Load) -> None:
        self.told = told

    def load(self) -> Load:
        return self.told


def seen_at(tokens_per_s: float) -> Prefills:
    prefills = Prefills()
    prefills.go(prefills.come(10_000, 0.0), 10_000 / tokens_per_s, spoke=True)
    return prefills


def test_a_queue_is_done_in_the_order_in_which_it_came_and_each_prompt_for_as_long_as_it_takes():
    prefills = seen_at(1_000)
    first, second = prefills.come(2_000, 20.0), prefills.come(4_000, 20.0)

    one_second_in = prefills.computed(21.0)
    never_more_than_the_prompt = prefills.computed(30.0)
    prefills.go(first, 22.0, spoke=True)
    after_the_first = prefills.computed(23.0)
    prefills.go(second, 26.0, spoke=True)

    assert (one_second_in, never_more_than_the_prompt, after_the_first) == (1_000, 2_000, 1_000)
    assert prefills.computed(40.0) == 0
    assert prefills.tokens_per_s == 1_000, "a wait for 6,000 tokens took 6 s, and one for 2,000 took 2"


def test_what_others_sent_before_is_waited_for_too():
    prefills = Prefills()
    prefills.go(prefills.come(1_000, 0.0, others=3_000), 2.0, spoke=True)
    assert prefills.tokens_per_s == 2_000


def test_an_answer_that_came_whole_or_not_at_all_says_nothing_of_the_speed():
    prefills = seen_at(1_000)
    for _ in range(REMEMBERED):
        prefills.go(prefills.come(1_000, 50.0), 110.0, spoke=False)
    assert prefills.tokens_per_s == 1_000


@given(st.lists(st.floats(0.01, 600.0), max_size=REMEMBERED // 2 - 2))
def test_a_few_waits_that_hung_do_not_move_the_speed(hung_s: list[float]):
    prefills = Prefills()
    for _ in range(REMEMBERED):
        prefills.go(prefills.come(1_000, 0.0), 1.0, spoke=True)
    for seconds in hung_s:
        prefills.go(prefills.come(1_000, 0.0), seconds, spoke=True)
    assert prefills.tokens_per_s == 1_000


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 5_000), st.floats(0, 10)), max_size=40))
def test_never_more_is_computed_than_waits_and_in_the_end_nothing_waits(steps: list[tuple[int, bool, int, float]]):
    clock = Clock()
    told: list[Work] = []
    there = Replica("m", "a", "a", upstream=Upstream(Load()), clock=clock)  # type: ignore[arg-type]
    there.tells = lambda changed: told.append(changed.work())
    claims: dict[int, Claim] = {}
    for number, ends, tokens, passes_s in steps:
        clock.now += passes_s
        if number not in claims:
            claims[number] = Claim(there, tokens)
        elif ends:
            claims.pop(number).release()
        else:
            claims[number].prefilled()
        assert 0 <= there.computed(clock.now) <= there.queued_tokens
        assert 0 <= there.load().queued_tokens <= there.queued_tokens
    for claim in claims.values():
        claim.release()

    assert not there.prefills
    assert there.work() == Work()
    assert all(min(work[:3]) >= 0 for work in told)


def test_of_a_remote_server_the_time_it_had_is_taken_off_and_an_engine_here_says_itself_what_is_left():
    for is_local, left in ((False, 3_000), (True, 4_000)):
        clock = Clock()
        there = Replica("m", "a", "a", upstream=Upstream(Load(queued_tokens=4_000)), clock=clock, is_local=is_local)  # type: ignore[arg-type]
        there.prefills = seen_at(1_000)
        Claim(there, 4_000)
        clock.now += 1.0
        assert there.load().queued_tokens == left
