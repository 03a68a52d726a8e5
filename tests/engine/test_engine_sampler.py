"""One draw: distribution, cuts, penalties, log-probabilities."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chisquare
from stub_models import StubVocabulary

from backends.engine.logprobs import read_logprobs
from backends.engine.sampler import Sampler, chances_of, draw, uniform
from backends.messages import Sampling

rows = st.lists(st.floats(-20, 20, width=32), min_size=2, max_size=40).map(lambda row: np.array(row, np.float32))


def shares(logits, sampling):
    """The chance of every token; 0 for those that were cut."""
    chances = chances_of(np.array(logits, np.float32), sampling)
    whole = np.zeros(len(logits))
    whole[chances.tokens] = chances.weights / chances.weights.sum(dtype=np.float64)
    return whole


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_draws_have_the_distribution_of_the_softmax(temperature):
    logits = np.array([2.0, 1.0, 0.5, 0.0, -1.0])
    sampler = Sampler(Sampling(temperature=temperature, seed=11), (), 0)

    counts = np.bincount([sampler.choose(logits.astype(np.float32), position) for position in range(4000)], minlength=5)

    softmax = np.exp(logits / temperature) / np.exp(logits / temperature).sum()
    assert chisquare(counts, softmax * 4000).pvalue > 0.001


def test_the_noise_of_neighbouring_positions_and_seeds_is_unrelated():
    by_position = [uniform(5, position) for position in range(2000)]
    by_seed = [uniform(seed, 5) for seed in range(2000)]

    for noise in (by_position, by_seed):
        assert chisquare(np.histogram(noise, 20, (0, 1))[0]).pvalue > 0.001
        assert abs(np.corrcoef(noise[1:], noise[:-1])[0, 1]) < 0.08


def test_any_integer_is_a_seed():
    logits = np.zeros(4, np.float32)

    for seed in (0, -1, 2**63, -(2**63), 2**64 - 1):
        assert 0 <= Sampler(Sampling(seed=seed), (), 0).choose(logits, 0) < 4


@given(rows, st.integers(1, 45))
def test_top_k_keeps_the_k_likeliest(logits, k):
    kept = shares(logits, Sampling(top_k=k)) > 0

    assert kept.sum() >= min(k, logits.size)
    assert logits[kept].min() >= np.sort(logits)[::-1][: k + 1].min()


@given(rows, st.floats(0.01, 0.99))
def test_top_p_keeps_the_smallest_set_that_holds_the_mass(logits, top_p):
    whole, kept = shares(logits, Sampling()), shares(logits, Sampling(top_p=top_p)) > 0

    assert whole[kept].sum() >= top_p - 1e-6
    assert whole[whole > whole[kept].min()].sum() < top_p + 1e-6
    assert not kept.all() or whole[kept].sum() - whole.min() * (whole == whole.min()).sum() < top_p + 1e-6


@given(rows, st.floats(0.01, 1))
def test_min_p_drops_what_is_much_less_likely_than_the_likeliest(logits, min_p):
    whole, kept = shares(logits, Sampling()), shares(logits, Sampling(min_p=min_p)) > 0

    share_of_likeliest = whole / whole.max()
    assert kept[share_of_likeliest > min_p + 1e-6].all()
    assert not kept[share_of_likeliest < min_p - 1e-6].any()
    assert kept[logits.argmax()]


@given(rows, st.floats(0, 1, exclude_max=True), st.integers(0, 5), st.floats(0.01, 1))
def test_a_draw_never_gives_a_token_that_was_cut(logits, at, top_k, top_p):
    sampling = Sampling(top_k=top_k, top_p=top_p)

    for point in (at, np.nextafter(1, 0)):
        assert shares(logits, sampling)[draw(chances_of(logits, sampling), point)] > 0


def test_a_tiny_temperature_is_the_largest_logit():
    logits = np.array([1.0, 3.0, 2.9], np.float32)

    assert {Sampler(Sampling(temperature=1e-6, seed=n), (), 0).choose(logits, 0) for n in range(50)} == {1}


def test_the_repetition_penalty_counts_the_prompt_and_the_others_do_not():
    logits = np.array([1.0, 0.9, -5.0], np.float32)

    repeated = Sampler(Sampling(temperature=0.0, repetition_penalty=1.5), (0,), 0)
    present = Sampler(Sampling(temperature=0.0, presence_penalty=1.5), (0,), 0)

    assert (repeated.choose(logits, 1), present.choose(logits, 1)) == (1, 0)


def test_choosing_leaves_the_logits_as_they_are():
    logits = np.array([1.0, 0.9], np.float32)
    sampler = Sampler(Sampling(temperature=0.5, presence_penalty=1.0, logit_bias={1: 9.0}), (0,), 0)
    sampler.count(0)

    sampler.choose(logits, 1)

    assert logits.tolist() == [1.0, np.float32(0.9)]


@given(rows, st.integers(0, 50))
def test_logprobs_are_those_of_the_softmax_and_the_alternatives_fall(logits, top):
    entry = read_logprobs(logits, 1, top, StubVocabulary())

    exact = logits[1] - np.log(np.exp(logits.astype(np.float64)).sum())
    assert entry.logprob == pytest.approx(min(0.0, exact), abs=1e-5)
    falling = [other.logprob for other in entry.top]
    assert falling == sorted(falling, reverse=True)
    assert len(falling) == min(top, logits.size)
