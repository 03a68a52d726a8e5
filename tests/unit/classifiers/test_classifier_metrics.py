"""Routing metrics against values worked out by hand."""

import numpy as np
import pytest

from classifiers.measuring import metrics

SMALL, LARGE = np.array([1.0, 0.0, 1.0, 0.0]), np.array([1.0, 1.0, 1.0, 1.0])


def test_a_perfect_order_recovers_the_gap_with_half_the_calls():
    score = LARGE - SMALL

    assert metrics.apgr(score, SMALL, LARGE) == pytest.approx(0.75)
    assert metrics.cpt(score, SMALL, LARGE, 0.5) == pytest.approx(0.25)
    assert metrics.cpt(score, SMALL, LARGE, 1.0) == pytest.approx(0.5)


def test_a_score_that_never_differs_is_random_routing():
    score = np.zeros(4)

    assert metrics.apgr(score, SMALL, LARGE) == pytest.approx(0.5)
    assert metrics.cpt(score, SMALL, LARGE, 0.8) == pytest.approx(0.8)
    assert metrics.recovered_at(0.3, score, SMALL, LARGE) == pytest.approx(0.3)


def test_the_worst_order_is_as_far_below_random_as_the_best_is_above():
    assert metrics.apgr(SMALL - LARGE, SMALL, LARGE) == pytest.approx(0.25)


def test_where_the_small_model_sometimes_wins_the_oracle_passes_one():
    small, large = np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 1.0])

    # By hand: gained so far 0, 1/3, 2/3, 1/3 at each third; by trapezoids 7/18, of a gap of 1/3.
    assert metrics.apgr(large - small, small, large) == pytest.approx(7 / 6)


def test_the_integral_equals_its_closed_form():
    draw = np.random.default_rng(1)
    small, score = draw.random(500), draw.random(500)
    large = small + 0.2 * draw.random(500)
    gain, rank = large - small, (metrics.ranks(score) - 0.5) / 500

    closed = 0.5 + np.mean((gain - gain.mean()) * rank) / gain.mean()

    assert metrics.apgr(score, small, large) == pytest.approx(closed, abs=1e-12)


def test_auc_of_three_pairs_of_which_one_is_tied():
    assert metrics.auc(np.array([0.5, 0.5, 0.9, 0.1]), np.array([True, False, True, False])) == pytest.approx(3.5 / 4)


def test_ece_is_the_distance_between_what_was_said_and_what_came():
    said, came = np.array([0.2, 0.2, 0.8, 0.8]), np.array([0.0, 0.0, 1.0, 0.0])

    assert metrics.ece(said, came, bins=2) == pytest.approx((0.2 + 0.3) / 2)


def test_no_gap_is_refused_with_both_means():
    with pytest.raises(ValueError, match=r"0\.5000 <= 1\.0000"):
        metrics.apgr(np.zeros(4), LARGE, SMALL)


def test_the_bootstrap_interval_holds_the_value_and_repeats():
    draw = np.random.default_rng(2)
    small, score = (draw.random(300) < 0.5).astype(float), draw.random(300)
    large = np.maximum(small, (draw.random(300) < 0.7).astype(float))

    low, high = metrics.apgr_interval(score, small, large, resamples=100, seed=3)

    assert low < metrics.apgr(score, small, large) < high
    assert (low, high) == metrics.apgr_interval(score, small, large, resamples=100, seed=3)
