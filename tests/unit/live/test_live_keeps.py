"""How long a server keeps what it was sent, and how much of that is believed, by what it said that it reused."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.live.keeps import SHORTEST_S, TRUSTED, Keeps
from gateway.state.residency import CONFIRMED_TTL_S, MAX_TTL_S

answers = st.lists(st.tuples(st.integers(0, 100_000), st.integers(0, 100_000)), max_size=60)


def after(*told: tuple[int, int]) -> Keeps:
    keeps = Keeps()
    for predicted, cached in told:
        keeps.was_reused(predicted, cached)
    return keeps


@given(answers, st.integers(0, 1_000_000))
def test_whatever_a_server_says_times_and_beliefs_stay_within_their_bounds(
    told: list[tuple[int, int]], tokens: int
) -> None:
    keeps = after(*told)
    assert SHORTEST_S <= keeps.ttl_s <= MAX_TTL_S
    assert 0 <= keeps.believed(tokens) <= tokens


@given(st.lists(st.integers(0, 100_000), max_size=20))
def test_a_server_that_counts_no_cached_tokens_is_believed_to_hold_what_it_was_sent(predicted: list[int]) -> None:
    keeps = after(*((tokens, 0) for tokens in predicted))
    assert (keeps.ttl_s, keeps.believed(5_000)) == (CONFIRMED_TTL_S, 5_000)


def test_what_came_true_of_late_is_believed_of_the_next():
    cold = after(*[(10_000, 2_000)] * 300)
    warm = after(*[(10_000, 2_000)] * 300, *[(10_000, 10_000)] * 600)

    assert 2_000 <= cold.believed(10_000) <= 2_000 + 10_000 * TRUSTED // 90
    assert warm.believed(10_000) == 10_000


def test_a_beginning_that_all_share_says_little_of_what_is_behind_it():
    """One long conversation that was evicted outweighs the short system prompt that never is."""
    alone = after(*[(512, 512)] * 20)
    with_long = after(*[(512, 512), (512, 512), (512, 512), (20_000, 512)] * 20)

    assert alone.ttl_s > CONFIRMED_TTL_S > with_long.ttl_s
    assert with_long.believed(20_000) < 0.5 * 20_000


def test_what_comes_true_at_times_counts_less_than_what_comes_true_in_part():
    at_times = after(*[(10_000, 10_000), (10_000, 0)] * 200)
    in_part = after(*[(10_000, 5_000)] * 400)

    assert 2_300 < at_times.believed(10_000) < 3_000
    assert 4_800 < in_part.believed(10_000) < 5_300


def test_what_is_believed_of_long_matches_is_learnt_from_long_ones_and_is_no_less_than_of_their_beginnings():
    mixed = after(*[(900, 900), (900, 900), (20_000, 900)] * 100)

    assert mixed.believed(900) == 900
    assert 900 < mixed.believed(20_000) < 3_000


@given(st.integers(256, 100_000), st.integers(0, 100_000))
def test_a_server_that_says_it_reused_more_than_it_was_sent_gains_nothing_by_it(predicted: int, more: int) -> None:
    assert (
        after((predicted, predicted), (predicted, predicted + more)).ttl_s
        == after((predicted, predicted), (predicted, predicted)).ttl_s
    )
