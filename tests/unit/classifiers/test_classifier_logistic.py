"""Scales and weights end at the one minimum of their loss, however far from it they start."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from classifiers.heads import logistic
from classifiers.heads.calibrate import fit_platt, logit
from classifiers.training.weigh import RIDGE

SPREADS = st.sampled_from([0.3, 1.0, 4.0])


def slope_of_loss(rows, target, start, pull, found):
    return rows.T @ (logistic.sigmoid(rows @ found) - target) + pull * (found - start)


@given(seed=st.integers(0, 999), size=st.sampled_from([5, 30, 300]), spread=SPREADS, far=st.floats(-8, 8))
def test_no_step_leads_further_down(seed: int, size: int, spread: float, far: float):
    draw = np.random.default_rng(seed)
    rows, target = draw.normal(size=(size, 3)) * spread, (draw.random(size) < draw.random()).astype(float)
    start, pull = np.array([far, -far, 0.0]), np.array([1.0, 1.0, 0.01])

    found = logistic.fit(rows, target, np.ones(size), start, pull)

    assert np.abs(slope_of_loss(rows, target, start, pull, found)).max() < 1e-5 * size


@pytest.mark.parametrize("outcome", [0.0, 0.5, 1.0])
@given(seed=st.integers(0, 999), spread=SPREADS, usual=st.floats(-4, 4))
def test_a_scale_for_surer_chances_than_came_true_has_their_mean(
    outcome: float, seed: int, spread: float, usual: float
):
    chance = logistic.sigmoid(usual + spread * np.random.default_rng(seed).normal(size=200))

    scale = fit_platt(chance, np.full(200, outcome), np.ones(200))

    assert scale.apply(chance).mean() == pytest.approx(outcome, abs=0.02)


def test_chances_that_tell_the_reverse_of_what_came_are_read_as_its_mean():
    chance = np.linspace(0.6, 0.99, 100)
    came = np.where(chance > 0.9, 0.0, 1.0)

    scale = fit_platt(chance, came, np.ones(100))

    assert scale.apply(chance) == pytest.approx(np.full(100, came.mean()), abs=0.01)


def test_weights_of_an_answers_signals_are_found_from_a_start_that_is_far_off():
    draw = np.random.default_rng(4)
    rows = np.column_stack([draw.normal(size=(80, 4)) * 3, np.ones(80)])
    right, start = (draw.random(80) < 0.5).astype(float), np.array([4.0, -4.0, 4.0, 0.0, -3.0])

    pull = np.array([1 / RIDGE] * 4 + [0.0])
    found = logistic.fit(rows, right, np.ones(80), start, pull)

    assert np.abs(slope_of_loss(rows, right, start, pull, found)).max() < 1e-6


def test_a_chance_that_was_right_all_along_stays():
    chance = np.random.default_rng(1).uniform(0.05, 0.95, 4000)
    came = (np.random.default_rng(2).random(4000) < chance).astype(float)

    scale = fit_platt(chance, came, np.ones(4000))

    assert scale.apply(chance) == pytest.approx(chance, abs=0.03)
    assert logit(scale.apply(np.array([0.5])))[0] == pytest.approx(0.0, abs=0.1)
