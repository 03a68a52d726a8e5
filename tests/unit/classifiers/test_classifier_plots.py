"""Curves of a measurement, and the PNG files that show them."""

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from typer.testing import CliRunner

from classifiers.measuring import metrics
from classifiers.measuring.curves import Curves, deferral, reliability
from classifiers.measuring.plots import costing, draw, draw_frontier
from gateway.cli import app

CHANCES = arrays(np.float64, st.shared(st.integers(1, 60), key="rows"), elements=st.floats(0.0, 1.0))


@given(CHANCES, CHANCES)
def test_the_bins_of_a_reliability_curve_are_even_in_order_and_hold_every_prompt(p_good, quality):
    found = reliability(p_good, quality)

    weights = np.array(found.prompts)
    assert weights.sum() == len(p_good)
    assert max(found.prompts) - min(found.prompts) <= 1
    assert (np.diff(found.predicted) > -1e-12).all()
    assert np.isclose(weights @ found.observed, quality.sum())


@given(CHANCES, CHANCES, CHANCES)
@settings(max_examples=40)
def test_a_deferral_curve_begins_at_the_small_and_ends_at_the_large_model(score, q_small, q_large):
    curve = deferral(score, q_small, q_large)

    assert np.isclose(curve.quality[0], q_small.mean())
    assert np.isclose(curve.quality[-1], q_large.mean())
    exact = metrics.deferral_curve(score, q_small, q_large)
    assert np.allclose(curve.quality, np.interp(curve.share, exact.share, exact.quality))


@given(st.floats(0.0, 1.0))
def test_all_large_costs_one_and_all_small_what_small_costs(small_cost: float):
    curve = costing(deferral(np.arange(4.0), np.zeros(4), np.ones(4)), small_cost)

    assert curve.share[0] == pytest.approx(small_cost, abs=1e-8)
    assert curve.share[-1] == 1.0


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") and path.stat().st_size > 5000


def test_a_measurement_is_drawn_as_three_pictures(tmp_path: Path):
    pytest.importorskip("matplotlib")
    draws = np.random.default_rng(0)
    small, large, score = draws.random(200), draws.random(200), draws.random(200)
    curves = Curves({"turnout": deferral(score, small, large)}, {"small": reliability(score, small)})

    paths = draw(curves, tmp_path / "plots", small_cost=0.1)

    assert [path.name for path in paths] == ["reliability.png", "deferral.png", "frontier.png"]
    assert all(map(is_png, paths))
    assert len({path.read_bytes() for path in paths}) == 3


def test_a_frontier_is_drawn_into_the_named_file(tmp_path: Path):
    pytest.importorskip("matplotlib")

    draw_frontier(tmp_path / "new" / "frontier.png", [10, 50, 100], [60, 95, 100], (50, 95), "large")

    assert is_png(tmp_path / "new" / "frontier.png")


def test_plots_without_matplotlib_say_what_to_install_before_anything_is_computed(tmp_path: Path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # as if it were not installed
    data = tmp_path / "outcomes.csv"
    data.write_text("prompt_id,prompt,small_correct,large_correct\n")

    result = CliRunner().invoke(app, ["evaluate", "--data", str(data), "--plots", str(tmp_path / "plots")])

    assert result.exit_code == 1
    assert "matplotlib" in result.stderr
    assert "[plots]" in result.stderr
    assert not (tmp_path / "plots").exists()


def test_plots_are_of_one_set_of_outcomes(tmp_path: Path):
    result = CliRunner().invoke(app, ["evaluate", "--data", str(tmp_path), "--plots", str(tmp_path / "plots")])

    assert result.exit_code == 2
    assert "CSV" in result.stderr
