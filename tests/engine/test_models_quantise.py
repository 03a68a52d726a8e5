"""Fewer bits: how far a value may move, what each kernel computes, and what a report says."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_models import make, save

from backends.engine.layers.linear import Int4, Int4Widened, Int8, linear
from backends.engine.layers.pool import as_int8
from backends.engine.layers.quantise import GROUP, to_int4, to_int8
from backends.engine.models.precision_report import quantise_report

SCALES = st.sampled_from([1e-6, 1e-2, 1.0, 1e3])


def drawn(rows, columns, scale, seed):
    return torch.randn(rows, columns, generator=torch.Generator().manual_seed(seed)) * scale


@settings(max_examples=40, deadline=None)
@given(scale=SCALES, seed=st.integers(0, 1000))
def test_int8_moves_no_value_by_more_than_its_rounding_step(scale, seed):
    weight = drawn(8, 64, scale, seed)

    moved = (to_int8(weight).dense() - weight).abs()

    step = weight.abs().amax(dim=1, keepdim=True) / 127
    assert (moved <= step * (0.5 + 127 / 256)).all(), "half a step, and at the ends what a bfloat16 scale rounds away"


@settings(max_examples=40, deadline=None)
@given(scale=SCALES, seed=st.integers(0, 1000))
def test_int4_moves_no_value_by_more_than_its_rounding_step(scale, seed):
    weight = drawn(8, 64, scale, seed)

    moved = (to_int4(weight).dense() - weight).abs().view(8, -1, GROUP)

    low, high = weight.view(8, -1, GROUP).aminmax(dim=2, keepdim=True)
    step = (high - low) / 15
    assert (moved <= step * 0.5 + (step * 8 + low.abs() + high.abs()) / 256).all()


def test_values_on_sixteen_levels_with_both_ends_in_use_come_back_exactly():
    levels = torch.randint(0, 16, (16, 64), generator=torch.Generator().manual_seed(0)).float()
    levels[:, ::GROUP], levels[:, 1::GROUP] = 0, 15
    weight = (levels - 8) * 0.125

    assert torch.equal(to_int4(weight).dense(), weight)


@settings(max_examples=40, deadline=None)
@given(scale=SCALES, seed=st.integers(0, 1000))
def test_keys_and_values_in_int8_move_by_half_a_step_of_their_own_head_at_most(scale, seed):
    vectors = drawn(8, 48, scale, seed).view(8, 3, 16) * torch.tensor([1.0, 1e-3, 1e3])[:, None]

    kept = as_int8(vectors)

    steps = vectors.abs().amax(-1, keepdim=True) / 127
    assert ((kept - vectors).abs() <= steps * 0.5001).all()
    assert (kept / steps).round().unique().numel() <= 255


def test_rows_of_zeros_stay_zeros():
    assert not as_int8(torch.zeros(2, 1, 32)).any()
    assert not to_int8(torch.zeros(2, 32)).dense().any()
    assert not to_int4(torch.zeros(2, 32)).dense().any()


@pytest.mark.parametrize("kernel", [Int8, Int4, Int4Widened])
@pytest.mark.parametrize("shape", [(16, 32), (64, 96), (192, 64)])
def test_each_kernel_computes_the_product_with_its_dense_weights(kernel, shape):
    weight, rows = drawn(*shape, 0.1, seed=1), drawn(5, shape[1], 1.0, seed=2)
    dense = (to_int8 if kernel is Int8 else to_int4)(weight).dense()

    product = kernel(weight)(rows).float()

    expected = rows.bfloat16().float() @ dense.t()
    assert (product - expected).abs().max() <= 0.02 * expected.abs().max()


def test_shapes_that_four_bits_do_not_fit_are_kept_in_eight():
    assert isinstance(linear(torch.zeros(16, 48), "int4"), Int8)
    assert isinstance(linear(torch.zeros(16, 64), "int4"), Int4)


def test_the_report_finds_float32_equal_to_itself_and_the_rest_near_it(tmp_path):
    torch.set_num_threads(1)
    report = {row.precision: row for row in quantise_report(save(make("llama"), tmp_path / "m"))}

    assert (report["float32"].divergence, report["float32"].agreement) == (0.0, 1.0)
    assert 0 < report["bfloat16"].divergence < report["int4"].divergence
    assert report["bfloat16"].agreement > 0.9
