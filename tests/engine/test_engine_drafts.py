"""Drafting: what is guessed, how much of it is verified, and when it stops."""

from itertools import pairwise
from math import prod

import pytest
from generating import batch_of, job, run
from hypothesis import given
from hypothesis import strategies as st
from stub_models import FixedDrafter, OracleDrafter, PrefixModel, StubVocabulary

from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.draft.costs import PRIOR_SHARE, SIZES, StepCosts, measured
from backends.engine.draft.drafter import NOTHING, Wanted
from backends.engine.draft.leads import LAG
from backends.engine.draft.looks import CREDIT, CROWD, SHARE, SHARE_OF_FEW, WORTH, Looks
from backends.engine.draft.ngram import LONGEST, NgramDrafter
from backends.engine.draft.worth import LEAST_GAIN, worthwhile
from backends.engine.sequence import Sequence
from backends.engine.speculate import MANY, TRY_SHARE, Speculator

tokens = st.lists(st.integers(0, 3), min_size=1, max_size=60)


class Slope:
    """A step costs 1, and this much more for every row."""

    def __init__(self, slope):
        self._slope = slope

    def seconds(self, rows):
        return 1 + self._slope * rows


def looked_up(text, at_most):
    """The tokens that an n-gram drafter guesses, and their grade."""
    sequence, drafter = Sequence(1, job(text), b""), NgramDrafter()
    outlook = drafter.outlook(sequence, at_most)
    if not outlook.tokens:
        return [], 0
    return drafter.guess([Wanted(sequence, outlook, outlook.tokens)])[0], outlook.grade


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
    found, _ = looked_up([ord(letter) for letter in text], 7)

    assert "".join(map(chr, found)) == guess


@given(tokens, st.integers(1, 10))
def test_a_guess_is_what_followed_the_longest_match_before(text, at_most):
    guess, grade = looked_up(text, at_most)

    matches = [
        (length, end)
        for end in range(1, len(text))
        for length in range(1, LONGEST + 1)
        if length <= end and text[end - length : end] == text[-length:]
    ]
    if not matches:
        assert guess == []
        return
    longest, end = max(matches)
    count = min(at_most, 2 * longest - 1)
    assert (len(guess), grade) == (count, longest - 1)
    assert guess == (text + guess)[end : end + count]


@given(tokens)
def test_reading_as_the_text_grows_equals_reading_it_at_once(text):
    growing, sequence = NgramDrafter(), Sequence(1, job(text[:1]), b"")
    for token in text[1:]:
        growing.outlook(sequence, 4)
        sequence.tokens.append(token)

    assert growing.outlook(sequence, 4) == NgramDrafter().outlook(sequence, 4)


def test_a_forgotten_sequence_leaves_nothing_behind():
    drafter = NgramDrafter()
    drafter.outlook(Sequence(1, job([1, 2, 1]), b""), 4)

    drafter.forget(1)
    drafter.forget(2)

    assert not drafter._places


def together(chances, lengths, step, draft):
    """The product of all streams' tokens a second, from the definition."""
    own = len(chances)
    expected = [1 + sum(row[:length]) for row, length in zip(chances, lengths, strict=True)]
    passes = [sum(length > depth for length in lengths) for depth in range(max(lengths, default=0))]
    seconds = step(own + sum(lengths)) + sum(draft(rows) for rows in passes)
    return prod(each / seconds for each in expected) ** (1 / own)


falling = st.lists(st.floats(0, 0.97), min_size=1, max_size=6)


@given(falling, st.floats(0.02, 5), st.floats(0, 2))
def test_no_other_number_of_drafts_of_each_would_make_the_streams_faster_together(chances, slope, draft_s):
    rows = [[chance**depth for depth in range(1, 5)] for chance in chances]
    step, draft = Slope(slope).seconds, lambda rows: draft_s

    found = worthwhile(rows, step, draft).lengths

    best = max(together(rows, [length] * len(rows), step, draft) for length in range(5))
    assert together(rows, found, step, draft) * (1 + LEAST_GAIN) >= best - 1e-6


def test_a_step_that_is_dear_alone_is_taken_when_the_rows_behind_it_are_cheap():
    seconds = {4: 1.0, 5: 1.5, 6: 1.5, 7: 1.5, 8: 1.5}

    assert worthwhile([[0.9]] * 4, seconds.__getitem__).lengths == [1] * 4
    assert worthwhile([[0.9], [0.1], [0.1], [0.1]], seconds.__getitem__).lengths == [0] * 4


def test_one_stream_does_not_gain_what_the_others_lose():
    sure, seconds = [1.0] * 7, {rows: 1 + max(0, rows - 8) * 0.1 for rows in range(1, 65)}

    assert worthwhile([sure, *[[]] * 7], seconds.__getitem__).lengths == [0] * 8
    assert worthwhile([sure] * 8, seconds.__getitem__).lengths == [7] * 8


@given(falling, st.floats(0.02, 1), st.lists(st.floats(0, 2), min_size=6, max_size=6))
def test_nobody_is_expected_to_lose_more_than_he_may(chances, slope, spare):
    rows = [[chance**depth for depth in range(1, 5)] for chance in chances]
    step = Slope(slope).seconds

    found = worthwhile(rows, step, spare=spare[: len(rows)]).lengths

    slower = step(len(rows) + sum(found)) - step(len(rows))
    for row, length, most in zip(rows, found, spare, strict=False):
        assert slower - sum(row[:length]) * step(len(rows)) <= most + 1e-9


def test_a_draft_model_guesses_as_deep_as_its_passes_pay():
    chances = [[0.9**depth for depth in range(1, 9)]]
    step = Slope(0.05).seconds

    lengths = [worthwhile(chances, step, lambda _, cost=cost: cost).lengths[0] for cost in (0.01, 0.2, 0.5, 2.0)]

    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] >= 7
    assert lengths[-1] == 0


def test_drafts_thin_out_as_the_batch_grows():
    each = [0.8**depth for depth in range(1, 8)]

    lengths = [sum(worthwhile([each] * size, Slope(0.1).seconds).lengths) / size for size in (1, 4, 16, 128)]

    assert lengths == sorted(lengths, reverse=True)
    assert lengths[0] > 4
    assert lengths[-1] < 2


def test_without_evidence_costs_follow_the_prior_and_with_some_they_are_scaled():
    costs = StepCosts()
    assert (costs.seconds(3), costs.is_known) == (1 + 3 * PRIOR_SHARE, False)

    costs.observe(2, 0.010)
    assert costs.seconds(4) == pytest.approx(0.010 * (1 + 4 * PRIOR_SHARE) / (1 + 2 * PRIOR_SHARE))
    assert costs.is_known


def test_a_measured_shape_holds_between_and_beyond_its_points():
    costs = StepCosts({1: 0.010, 4: 0.011, 8: 0.019})

    assert [costs.seconds(rows) for rows in (1, 4, 6, 8, 10)] == pytest.approx([0.010, 0.011, 0.015, 0.019, 0.023])


def test_a_size_that_was_seen_often_speaks_for_itself_and_a_slower_machine_is_slower_for_all():
    costs = StepCosts({1: 0.010, 4: 0.011})

    for _ in range(400):
        costs.observe(1, 0.020)
        costs.observe(4, 0.055)

    assert costs.seconds(1) == pytest.approx(0.020, rel=0.2)
    assert costs.seconds(4) == pytest.approx(0.055, rel=0.2)
    assert costs.seconds(2) > 0.018


def test_one_step_that_something_else_held_up_changes_next_to_nothing():
    costs = StepCosts()
    for _ in range(50):
        costs.observe(4, 0.010)

    costs.observe(4, 3.0)

    assert costs.seconds(4) == pytest.approx(0.010, rel=0.05)


def test_a_size_that_was_unlucky_once_is_not_believed_dear_for_ever():
    costs = StepCosts({1: 0.010, 2: 0.011})

    costs.observe(2, 0.020)

    assert costs.seconds(2) / costs.seconds(1) < 1.1 * 1.1


def test_the_shape_is_measured_on_the_model_itself_and_in_bounded_time():
    class Model(PrefixModel):
        """Takes two seconds, and a tenth for each row."""

        now = 0.0

        def forward(self, step):
            self.now += 2 + 0.1 * len(step.tokens)
            return super().forward(step)

    slow, quick = Model(blocks=20), PrefixModel(blocks=20)

    assert measured(slow, lambda: slow.now) == pytest.approx({1: 2.1})
    assert list(measured(quick, lambda: 0.0)) == [size for size in SIZES if size <= 20]


def test_a_machine_that_was_busy_throughout_does_not_make_rows_look_free():
    ticks = iter(range(100_000))

    shape = measured(PrefixModel(blocks=20), lambda: next(ticks) * 1e-6)

    assert [shape[rows] < shape[more] for rows, more in pairwise(shape)] == [True] * (len(shape) - 1)


def speculating(drafter, slope, clock=lambda: 0.0):
    return Batch(
        PrefixModel(vocab_size=16, blocks=256),
        StubVocabulary(eos=None),
        revision="test",
        budget=Budget(),
        clock=lambda: 0.0,
        speculator=Speculator(drafter, 4, Slope(slope), clock),
    )


@pytest.mark.parametrize("many", [1, 8])
def test_a_drafter_that_is_always_wrong_costs_next_to_nothing(many):
    jobs = [job((1, 2 + number), 600) for number in range(many)]
    batch = speculating(OracleDrafter({each.prompt: [0] * 700 for each in jobs}, lies=True), 0.1)

    run(batch, jobs)

    assert batch.speculator.spent_s <= batch.speculator.plain_s * (1 + TRY_SHARE + 0.01)


def test_a_drafter_that_is_always_right_is_asked_for_all_it_may():
    [plain] = run(batch_of(PrefixModel(), StubVocabulary(eos=None)), [job((1, 2), 101)])
    right = speculating(OracleDrafter({(1, 2): plain.tokens}), 0.1)

    run(right, [job((1, 2), 101)])

    assert right.speculator.accepted == right.speculator.proposed >= 78
    assert right.speculator.plain_s > 3 * right.speculator.spent_s


def test_of_many_streams_none_falls_behind_for_what_another_gains():
    """One is guessed right for ever, the others never: their tokens cost next to nothing more than without drafts."""
    jobs = [job((1, 2 + number), 150) for number in range(MANY)]
    first, *others = run(batch_of(PrefixModel(), StubVocabulary(eos=None)), jobs)
    batch = speculating(OracleDrafter({jobs[0].prompt: first.tokens}), 0.01)

    answers = run(batch, jobs)

    step = Slope(0.01).seconds
    behind = sum(step(rows) - step(min(rows, MANY)) for rows in batch._model.rows[1:])
    assert batch.speculator.accepted > 20
    assert behind <= (LAG + TRY_SHARE) * 150 * step(MANY)
    assert [each.tokens for each in answers] == [first.tokens, *(each.tokens for each in others)]


def test_a_drafter_that_turns_right_is_found_out():
    [plain] = run(batch_of(PrefixModel(), StubVocabulary(eos=None)), [job((1, 2), 1000)])
    late = [token ^ 1 for token in plain.tokens[:200]] + plain.tokens[200:]
    batch = speculating(OracleDrafter({(1, 2): late}), 0.1)

    [answer] = run(batch, [job((1, 2), 1000)])

    assert batch.speculator.accepted > 300
    assert answer.tokens == plain.tokens


def test_nothing_is_drafted_where_a_row_costs_as_much_as_a_step():
    dear = speculating(FixedDrafter([1, 1, 1]), 1e6)

    run(dear, [job((1, 2), 20)])

    assert dear.speculator.proposed == 0


def test_where_no_draft_can_pay_the_drafter_is_not_even_asked():
    class Uncalled(FixedDrafter):
        def outlook(self, sequence, at_most):
            raise AssertionError("asked")

    batch = speculating(Uncalled([1, 1, 1]), 1e6)

    [answer] = run(batch, [job((1, 2), 20)])

    assert len(answer.tokens) == 20


def test_without_a_drafter_a_step_has_one_row_for_each_stream_and_no_more():
    model = PrefixModel()
    batch = batch_of(model, StubVocabulary(eos=None))

    run(batch, [job((1, 2, number), 20) for number in range(3)])

    assert model.rows == [9] + [3] * 19
    assert (batch.speculator, batch.stats().proposed, batch.stats().draft_speedup) == (None, 0, 1.0)


class Dear(FixedDrafter):
    """Has nothing to guess, and takes a hundredth of a step to say so. Everything else takes no time."""

    looks = 0

    def outlook(self, sequence, at_most):
        self.looks += 1
        return NOTHING


@pytest.mark.parametrize(("many", "share"), [(CROWD - 1, SHARE_OF_FEW), (CROWD, SHARE), (MANY, SHARE)])
def test_looks_that_find_nothing_take_a_small_share_of_the_time(many, share):
    drafter, steps, step_s = Dear([1]), 400, Slope(0.001).seconds(many)
    batch = speculating(drafter, 0.001, clock=lambda: 0.01 * step_s * drafter.looks)

    run(batch, [job((1, 2 + number), steps) for number in range(many)])

    looked_s = batch.speculator.clock()
    assert looked_s <= share * steps * step_s + (1 + CREDIT) * many * 0.01 * step_s
    assert looked_s >= 0.8 * share * steps * step_s


def test_a_new_stream_is_looked_at_soon():
    drafter = Dear([1])
    batch = speculating(drafter, 0.001, clock=lambda: 0.1 * drafter.looks)
    for number in range(CROWD):
        batch.add(number, job((1, 2 + number), 300), 0)
    for _ in range(100):
        batch.step()
    before = drafter.looks

    batch.add(CROWD, job((1, 2 + CROWD), 300), 0)
    for _ in range(3):
        batch.step()

    assert drafter.looks > before


def test_looks_that_are_paid_for_go_on():
    """Where one of many is guessed right, all are looked at in every step, however long that takes."""
    looks = Looks()
    for _ in range(100):
        assert looks.is_due()
        looks.book(0.01, CROWD, 1.0)
        looks.pay(0.01 / WORTH)


def test_ended_sequences_leave_nothing_in_the_speculator():
    batch = batch_of(PrefixModel(), drafter=NgramDrafter())

    run(batch, [job((1, 2, 1, 2), 5), job((3, 3, 3), 5)])

    assert len(batch.speculator.acceptance) == 0
    assert not batch.speculator._grades
    assert not batch.speculator.leads
