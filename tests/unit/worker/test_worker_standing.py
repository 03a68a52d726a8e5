"""Others' work at a worker counts when it stands, and a spike that the next word takes back never does."""

from backends.worker.upstream import STANDS_S, Standing


class Clock:
    now = 5.0

    def __call__(self) -> float:
        return self.now


def test_a_spike_that_the_next_word_takes_back_never_counts():
    clock = Clock()
    others = Standing(clock)
    seen = []

    for queued in (0, 1_553, 0, 900, 0):
        others.hear(1 if queued else 0, queued)
        seen.append(others.standing())
        clock.now += 0.05

    assert seen == [(0, 0)] * 5


def test_what_is_told_twice_counts_and_so_does_what_was_not_corrected_in_time():
    clock = Clock()
    others = Standing(clock)

    others.hear(2, 500)
    assert others.standing() == (0, 0)
    clock.now += STANDS_S
    assert others.standing() == (2, 500)
    others.hear(3, 400)
    assert others.standing() == (2, 400)


def test_work_that_is_over_stops_counting_at_once():
    clock = Clock()
    others = Standing(clock)
    others.hear(2, 500)
    others.hear(2, 500)

    others.hear(0, 0)

    assert others.standing() == (0, 0)
