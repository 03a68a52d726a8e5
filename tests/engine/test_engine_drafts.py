"""Drafting: what is guessed, how much of it is verified, and when it stops."""

import pytest
from generating import batch_of, job, run
from hypothesis import given
from hypothesis import strategies as st
from stub_models import FixedDrafter, OracleDrafter, PrefixModel, StubVocabulary

from backends.engine.batch import Batch
from backends.engine.draft.costs import LEAST_SHARE, PRIOR_SHARE, StepCosts
from backends.engine.draft.ngram import LONGEST, NgramDrafter
from backends.engine.scheduler import Budget
from backends.engine.speculate import Speculator, worthwhile

tokens = st.lists(st.integers(0, 3), min_size=1, max_size=60)


class Slope:
    def __init__(self, slope):
        self._slope = slope

    def slope(self):
        return self._slope


@pytest.mark.parametrize(
    ("text", "guess"),
    [
        ("abcdXYZabcd", "XYZabcd"),
        ("abX..aabY..ab", "Y.."),
        ("qa", ""),
        ("a", ""),
        ("xyxyxyxy", "xyxyxyx"),
        ("....", "......."[: 2 * 3 - 1]),
    ],
)
def test_the_longest_latest_earlier_match_is_continued(text, guess):
    found = NgramDrafter().guess(1, list(text), 7)

    assert "".join(found.tokens) == guess


@given(tokens, st.integers(1, 10))
def test_a_guess_is_what_followed_the_longest_match_before(text, at_most):
    guess = NgramDrafter().guess(1, text, at_most)

    matches = [
        (length, end)
        for end in range(1, len(text))
        for length in range(1, LONGEST + 1)
        if length <= end and text[end - length : end] == text[-length:]
    ]
    if not matches:
        assert guess.tokens == []
        return
    longest, end = max(matches)
    count = min(at_most, 2 * longest - 1)
    assert (len(guess.tokens), guess.grade) == (count, longest - 1)
    assert guess.tokens == (text + guess.tokens)[end : end + count]


@given(tokens)
def test_reading_as_the_text_grows_equals_reading_it_at_once(text):
    growing = NgramDrafter()
    for length in range(1, len(text)):
        growing.guess(1, text[:length], 4)

    assert growing.guess(1, text, 4) == NgramDrafter().guess(2, text, 4)


def test_a_forgotten_sequence_leaves_nothing_behind():
    drafter = NgramDrafter()
    drafter.guess(1, [1, 2, 1], 4)

    drafter.forget(1)
    drafter.forget(2)

    assert not drafter._places


@given(st.lists(st.floats(0, 1), max_size=40), st.floats(0, 5))
def test_rows_are_taken_likeliest_first_and_only_while_they_raise_tokens_per_time(chances, slope):
    rows = [[chance, chance**2, chance**3] for chance in chances]

    lengths = worthwhile(rows, slope)

    def goodput(lengths):
        expected = len(rows) + sum(sum(row[:length]) for row, length in zip(rows, lengths, strict=True))
        return expected / (1 + slope * (len(rows) + sum(lengths)))

    if rows:
        assert goodput(lengths) >= goodput([0] * len(rows)) - 1e-9
        assert goodput(lengths) >= goodput([3] * len(rows)) - 1e-9


def test_drafts_thin_out_as_the_batch_grows():
    lengths = [sum(worthwhile([[0.8**depth for depth in range(1, 8)]] * size, 0.1)) / size for size in (1, 4, 16, 128)]

    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 4
    assert lengths[-1] < 2


def test_the_cost_of_a_row_is_learned_from_the_steps():
    costs = StepCosts()
    assert costs.slope() == PRIOR_SHARE

    for rows in (1, 4, 2, 8, 1, 6):
        costs.observe(rows, 0.010 + 0.003 * rows)

    assert costs.slope() == pytest.approx(0.3)


def test_noise_never_makes_rows_look_free_nor_one_slow_step_dear():
    costs = StepCosts()
    for rows in (8, 1) * 20:
        costs.observe(rows, 0.010 if rows == 8 else 0.011)
    assert costs.slope() == LEAST_SHARE

    steady, disturbed = StepCosts(), StepCosts()
    for rows in (1, 4) * 20:
        steady.observe(rows, 0.010 + 0.001 * rows)
        disturbed.observe(rows, 0.010 + 0.001 * rows)
    disturbed.observe(4, 10.0)
    assert disturbed.slope() < 3 * steady.slope()


def test_steps_of_one_size_teach_nothing_about_the_cost_of_a_row():
    costs = StepCosts()
    for _ in range(50):
        costs.observe(3, 0.01)

    assert costs.slope() == PRIOR_SHARE


def speculating(drafter, slope):
    return Batch(
        PrefixModel(vocab_size=16),
        StubVocabulary(eos=None),
        revision="test",
        budget=Budget(),
        clock=lambda: 0.0,
        speculator=Speculator(drafter, 4, Slope(slope)),
    )


def test_a_drafter_that_is_always_wrong_is_asked_less_and_less():
    wrong = speculating(OracleDrafter({(1, 2): [0] * 400}, lies=True), 0.1)
    [answer] = run(wrong, [job((1, 2), 300)])

    assert len(answer.tokens) == 300
    assert wrong.speculator.proposed < 60


def test_a_drafter_that_is_always_right_is_asked_for_all_it_may():
    [plain] = run(batch_of(PrefixModel(), StubVocabulary(eos=None)), [job((1, 2), 101)])
    right = speculating(OracleDrafter({(1, 2): plain.tokens}), 0.1)

    run(right, [job((1, 2), 101)])

    assert right.speculator.accepted == right.speculator.proposed >= 78


def test_nothing_is_drafted_where_a_row_costs_as_much_as_a_step():
    dear = speculating(FixedDrafter([1, 1, 1]), 1e6)

    run(dear, [job((1, 2), 20)])

    assert dear.speculator.proposed == 0


def test_ended_sequences_leave_nothing_in_the_speculator():
    batch = batch_of(PrefixModel(), drafter=NgramDrafter())

    run(batch, [job((1, 2, 1, 2), 5), job((3, 3, 3), 5)])

    assert not batch.speculator._acceptance
    assert not batch.speculator._grades
