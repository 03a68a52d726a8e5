"""A value that is told lies within its interval, and random is what draws come to on average."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from classifiers.measuring import metrics
from classifiers.measuring.baselines import random
from classifiers.measuring.ece_interval import ece_interval
from classifiers.measuring.routed import constant, resampled, routed

ROWS = st.shared(st.integers(1, 40), key="rows")
UNIT = arrays(np.float64, ROWS, elements=st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.0, 1.0)))
MARKS = arrays(np.float64, ROWS, elements=st.sampled_from([0.0, 1.0]))


@given(UNIT, st.one_of(UNIT, MARKS))
def test_an_expected_calibration_error_lies_within_its_interval(said, came):
    low, high = ece_interval(said, came)

    assert 0.0 <= low <= metrics.ece(said, came)
    assert metrics.ece(said, came) <= high <= 1.0


@given(UNIT, UNIT, UNIT, st.integers(1, 12))
@settings(max_examples=60)
def test_every_number_of_a_router_lies_within_its_interval(order, small, large, resamples: int):
    draws = resampled(len(order), resamples)

    for found in (routed(order, small, large, draws), constant(0.0, small, large, draws)):
        for name in ("apgr", "cpt50", "cpt80", "auc"):
            value, span = getattr(found, name), getattr(found, f"{name}_95")
            assert value is None or np.isnan(span).all() or span[0] <= value <= span[1], name
        for name in ("quality_at", "share_for"):
            for at, value in getattr(found, name).items():
                low, high = getattr(found, f"{name}_95")[at]
                assert value is None or low <= value, (name, at)
                assert high is None or value <= high, (name, at)


@given(UNIT, UNIT)
def test_random_is_the_straight_line_between_both_models(small, large):
    found = routed(random([""] * len(small)), small, large, resampled(len(small), 5))

    for share, quality in found.quality_at.items():
        assert quality == pytest.approx((1 - float(share)) * small.mean() + float(share) * large.mean())
    if metrics.has_gap(small, large):
        assert (found.apgr, found.cpt50, found.cpt80, found.auc) == pytest.approx((0.5, 0.5, 0.8, 0.5), abs=1e-3)


@pytest.mark.parametrize("size", [60, 200, 400])
@pytest.mark.parametrize(("off", "least"), [(0.0, 0.9), (0.1, 0.9)])
def test_the_interval_of_a_calibration_error_holds_the_truth(size: int, off: float, least: float):
    draw, held = np.random.default_rng(4), 0

    for _ in range(150):
        said = draw.uniform(0.1, 0.8, size)
        low, high = ece_interval(said, (draw.random(size) < said + off).astype(float))
        held += low <= off <= high

    assert held / 150 >= least
