"""Laws of the classifier's pure parts."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from classifiers.embedding.memory import Memory
from classifiers.features.lexical import NAMES, lexical
from classifiers.features.text import HEAD_CHARS, TAIL_CHARS, cut
from classifiers.heads import calibrate
from classifiers.heads.contrasts import from_contrasts, to_contrasts
from classifiers.measuring import metrics
from classifiers.reading.appeals import without_appeals
from classifiers.reading.scripts import in_latin, not_latin_share
from classifiers.turns import prefixes

CHANCE = st.floats(0.0, 1.0)
INSIDE = st.floats(0.005, 0.995)


@given(st.text(max_size=3000))
def test_every_text_has_finite_features_of_one_width(text: str):
    row = lexical(text)

    assert row.shape == (len(NAMES),)
    assert np.isfinite(row).all()
    assert 0.0 <= not_latin_share(text) <= 1.0


@given(st.text(max_size=3000))
def test_what_the_encoder_sees_is_bounded_and_has_no_wide_gap(text: str):
    seen = cut(text)

    assert len(seen) <= HEAD_CHARS + TAIL_CHARS + 3
    assert seen.encode().decode() == seen  # what leaves is UTF-8, whatever came
    assert seen == " ".join(seen.split())


APPEALS = st.lists(
    st.sampled_from(
        [
            "Think hard.",
            "prove",
            "x^2",
            "hi",
            "the",
            "of",
            "{",
            "std::vector",
            "\n",
            "?",
            "A.",
            "répond",
            "use GPT",
            "best",
        ]
    ),
    max_size=30,
).map(" ".join)


@given(st.one_of(st.text(max_size=400), APPEALS))
def test_what_is_left_of_a_text_is_a_piece_of_it_and_has_no_appeal_left(text: str):
    left = without_appeals(text)

    assert left in text
    assert bool(left.strip()) == bool(text.strip())
    assert without_appeals(left) == left


@given(st.lists(st.text(alphabet="abc XYZ", max_size=8), max_size=20), st.sampled_from(["  ", "\t", "\t  "]))
def test_white_space_within_a_line_is_nothing_to_the_encoder(words: list[str], space: str):
    assert cut(space.join(words)) == cut(" ".join(words))


@given(st.text(max_size=400), st.sampled_from(["  ", " \t", "   "]))
def test_neither_case_nor_wide_gaps_move_a_feature(text: str, gap: str):
    plain = text.encode("ascii", "ignore").decode().replace("\x0b", " ").replace("\x0c", " ")

    assert np.array_equal(lexical(plain), lexical(plain.upper()))
    words = plain.split(" ")
    single = [word for word in words if word.strip()]
    if plain.isprintable():
        assert np.array_equal(lexical(gap.join(single)), lexical(" ".join(single)))


@given(arrays(np.float64, st.tuples(st.integers(1, 8), st.integers(2, 5)), elements=CHANCE))
def test_contrasts_lose_nothing(quality):
    assert np.allclose(from_contrasts(to_contrasts(quality)), quality)


@given(
    arrays(np.float64, st.shared(st.integers(5, 60), key="rows"), elements=st.floats(-1, 1)),
    arrays(np.float64, st.shared(st.integers(5, 60), key="rows"), elements=st.floats(-1, 1)),
)
@settings(max_examples=40)
def test_a_line_never_changes_who_gains_more_and_meets_the_mean(gain, actual):
    line = calibrate.fit_line(gain, actual, np.ones_like(gain))

    fitted = line.apply(gain)

    assert (np.diff(fitted[np.argsort(gain)]) >= -1e-12).all()
    assert np.isclose(fitted.mean(), actual.mean())


@given(
    arrays(np.float64, st.shared(st.integers(20, 60), key="n"), elements=CHANCE),
    arrays(np.float64, st.shared(st.integers(20, 60), key="n"), elements=CHANCE),
    st.lists(CHANCE, min_size=2, max_size=30),
    st.sampled_from([calibrate.fit_platt, calibrate.fit_isotonic]),
)
@settings(max_examples=40)
def test_calibrated_chances_are_probabilities_and_keep_their_order(raw, quality, asked, fitter):
    calibrator = fitter(raw, quality, np.ones_like(raw))

    given_back = calibrator.apply(np.sort(np.array(asked)))

    assert ((given_back >= 0.005) & (given_back <= 0.995)).all()
    assert (np.diff(given_back) >= -1e-12).all()


@given(st.floats(0.5, 2.0), st.floats(-1.0, 1.0))
@settings(max_examples=20)
def test_platt_finds_the_curve_that_made_the_outcomes(slope: float, shift: float):
    raw = np.random.default_rng(0).uniform(0.02, 0.98, 4000)
    truth = calibrate.Platt(slope, shift).apply(raw)

    fitted = calibrate.fit_platt(raw, truth, np.ones_like(raw)).apply(raw)

    assert np.abs(fitted - truth).max() < 0.01


@given(st.lists(st.tuples(INSIDE, INSIDE), min_size=1, max_size=20))
def test_a_conversation_stays_between_its_most_and_least_certain_turn(turns: list[tuple[float, float]]):
    for head in range(2):
        for at, row in enumerate(prefixes(turns)):
            seen = [turn[head] for turn in turns[: at + 1]]
            assert min(seen) - 1e-4 <= row[head] <= max(seen) + 1e-4


@given(st.lists(st.tuples(INSIDE, INSIDE), min_size=1, max_size=12), st.integers(1, 12))
def test_a_prefix_of_the_conversation_has_the_estimates_of_that_prefix(turns, length: int):
    assert prefixes(turns)[:length] == prefixes(turns[:length])


@given(arrays(np.float64, 40, elements=st.integers(-9, 9)), st.integers(0, 2**32 - 1))
def test_only_the_order_of_scores_counts(score, seed: int):
    draw = np.random.default_rng(seed)
    small, large = draw.random(40), 1.0 + draw.random(40)

    assert np.isclose(metrics.apgr(score, small, large), metrics.apgr(2 * score + 1, small, large))


@given(st.lists(st.tuples(st.integers(0, 9), st.integers()), max_size=60), st.integers(1, 5))
def test_memory_keeps_the_most_recent_and_never_more_than_its_bound(puts: list[tuple[int, int]], most: int):
    memory: Memory[int] = Memory(most)
    for key, value in puts:
        memory.put(bytes([key]), value)

    latest = dict(puts)
    recent = list(dict.fromkeys(key for key, _ in reversed(puts)))[:most]
    assert len(memory) == len(recent)
    assert all(memory.get(bytes([key])) == latest[key] for key in recent)


@given(st.text(max_size=300))
def test_without_sentences_in_another_script_a_turn_is_a_part_of_itself_and_stays_so(text: str):
    found = in_latin(text)

    assert found in text
    assert in_latin(found) == found
