"""Curves of a measurement, the pictures that show them, and the PNG files that these become."""

import json
import math
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from classifiers.measuring import metrics
from classifiers.measuring.curves import Curves, curves, deferral, reliability
from classifiers.measuring.pictures import Line, Picture, both, costing, mixes, pictures
from classifiers.measuring.plots import draw, draw_as
from classifiers.measuring.report import Report, named

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


def invented(models: tuple[str, ...] = ("small", "large"), seed: int = 0) -> Curves:
    draws = np.random.default_rng(seed)
    p_good, quality = draws.random((200, len(models))), draws.random((200, len(models)))
    return curves({"turnout": draws.random(200), "length": draws.random(200)}, p_good, quality, models)


def test_a_measurement_is_three_pictures_that_hold_its_curves():
    found = invented()

    shown = {picture.name: picture for picture in pictures(found, 0.1)}

    assert list(shown) == ["reliability", "deferral", "frontier"]
    lines = {(name, line.label): line for name, picture in shown.items() for line in picture.lines}
    for model, curve in found.reliability.items():
        assert (lines["reliability", model].across, lines["reliability", model].up) == (curve.predicted, curve.observed)
    for router, curve in found.deferral.items():
        assert (lines["deferral", router].across, lines["deferral", router].up) == (curve.share, curve.quality)
        assert lines["frontier", router].across == costing(curve, 0.1).share


def test_of_three_models_each_has_its_reliability_and_calls_go_from_the_first_to_the_last():
    found = invented(("tiny", "middle", "huge"))

    chances, calls, cost = pictures(found, 0.5)

    assert [line.label for line in chances.lines] == ["as predicted", "tiny", "middle", "huge"]
    assert calls.across == "share of prompts to huge, the others to tiny"
    assert "a call of tiny: 0.5" in cost.across


def test_what_was_before_stands_beside_what_is_after():
    after, before = invented(seed=1).reliability, invented(seed=2).reliability

    (picture,) = pictures(Curves(reliability=after, before=before), 0.0)

    lines = {line.label: line.up for line in picture.lines}
    assert lines["small, before"] == before["small"].observed
    assert lines["small, after"] == after["small"].observed


def test_two_artefacts_are_in_one_picture_of_each_kind():
    first, second = invented(seed=1), invented(seed=2)

    chances, calls = both(first, second, {"reliability": "a title", "deferral": "another"})

    assert (chances.title, calls.title) == ("a title", "another")
    lines = {line.label: line.up for line in (*chances.lines, *calls.lines)}
    assert lines["large, first"] == first.reliability["large"].observed
    assert lines["first"] == first.deferral["turnout"].quality
    assert lines["second"] == second.deferral["turnout"].quality
    assert lines["length"] == second.deferral["length"].quality


CELLS = st.one_of(
    st.text(max_size=5),
    st.integers(-5, 5000),
    st.floats(width=32),
    st.none(),
    st.tuples(st.none() | st.floats(-1, 1), st.none() | st.floats(-1, 1)),
)


@given(st.lists(st.tuples(CELLS, CELLS), max_size=5))
def test_json_has_the_numbers_of_the_table_as_numbers_and_null_where_there_is_none(rows):
    table = Report(title="t", columns=("a", "b"), rows=tuple(rows), notes=("n",), forms={"b": "{:+.4f}"})

    told = json.loads(msgspec.json.encode(named(table, table)), parse_constant=pytest.fail)

    assert set(told) == {"title", "columns", "rows", "notes"}
    again = [tuple(tuple(cell) if isinstance(cell, list) else cell for cell in row) for row in told["rows"]]
    assert msgspec.structs.replace(table, rows=tuple(again)).cells() == table.cells()
    for row, before in zip(again, rows, strict=True):
        for cell, was in zip(row, before, strict=True):
            finite = not isinstance(was, float) or math.isfinite(was)
            assert cell == was if finite else cell is None


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") and path.stat().st_size > 5000


def test_pictures_are_drawn_as_files_of_their_names(tmp_path: Path):
    pytest.importorskip("matplotlib")

    paths = draw(pictures(invented(), 0.1), tmp_path / "größe")

    assert [path.name for path in paths] == ["reliability.png", "deferral.png", "frontier.png"]
    assert all(map(is_png, paths))
    assert len({path.read_bytes() for path in paths}) == 3


def test_a_frontier_is_drawn_into_the_named_file(tmp_path: Path):
    pytest.importorskip("matplotlib")

    draw_as(mixes([10, 50, 100], [60, 95, 100], (50, 95), "large"), tmp_path / "new" / "frontier.jpg")

    assert is_png(tmp_path / "new" / "frontier.jpg")


@pytest.mark.filterwarnings("error")
def test_names_that_the_font_has_not_are_told_apart(tmp_path: Path):
    pytest.importorskip("matplotlib")
    named = [
        Picture(name=f"at{at}", across="a", up="b", lines=(Line(label, (0, 1), (0, 1)),))
        for at, label in enumerate(("模型", "模式", "größe"))
    ]

    drawn = [path.read_bytes() for path in draw(named, tmp_path)]

    assert len(set(drawn)) == 3


def test_names_of_models_are_no_formulas_and_none_is_left_out_of_the_legend(tmp_path: Path):
    pytest.importorskip("matplotlib")
    named, plain = (
        Picture(name=name, across="a", up="b", lines=(Line(label, (0, 1), (0, 1)),), title=label)
        for name, label in (("named", r"_\frac$x$"), ("plain", "_"))
    )

    paths = draw([named, plain], tmp_path)

    assert all(map(is_png, paths))
    assert paths[0].read_bytes() != paths[1].read_bytes()
