"""Products of whole numbers: nearer to the weights than bfloat16, and the same for a row wherever it stands."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.engine.layers.exact import Exact8, head, sums_are_exact
from backends.engine.layers.linear import Int8, unmoved

pytestmark = pytest.mark.skipif(not sums_are_exact(), reason="this processor's products of bytes may saturate")

WEIGHT = torch.randn(160, 96, generator=torch.Generator().manual_seed(0))


def rows_of(count: int, seed: int, scale: float) -> torch.Tensor:
    return torch.randn(count, 96, generator=torch.Generator().manual_seed(seed)) * scale


@settings(deadline=None)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([1e-30, 1e-3, 1.0, 300.0]), at=st.integers(0, 8))
def test_a_row_has_the_same_bits_alone_and_among_others(seed, scale, at):
    product, rows = Exact8(WEIGHT), rows_of(9, seed, scale)

    assert torch.equal(product(rows)[at : at + 1], product(rows[at : at + 1]))


@settings(deadline=None)
@given(seed=st.integers(0, 1000), scale=st.sampled_from([1e-3, 1.0, 300.0]))
def test_products_are_off_by_less_than_half_a_step_of_each_activation(seed, scale):
    product, rows = Exact8(WEIGHT), rows_of(5, seed, scale)
    dense = product.codes.double() * product.scales.double()[:, None]

    moved = (product(rows).double() - rows.double() @ dense.t()).abs()

    step = rows.abs().amax(-1, keepdim=True).double() / (127 * 256)
    assert (moved <= step * dense.abs().sum(1) * 0.51).all()


def test_greatest_activations_of_one_sign_do_not_saturate():
    product = Exact8(torch.ones(32, 2048))

    assert torch.allclose(product(torch.full((1, 2048), 5.0)), torch.tensor(5.0 * 2048), rtol=1e-2)


def test_a_row_that_is_not_finite_stays_so_and_zeros_stay_zeros():
    rows = rows_of(3, 0, 1.0)
    rows[0, 3], rows[1] = float("nan"), 0

    found = Exact8(WEIGHT)(rows)

    assert found[0].isnan().all()
    assert not found[1].any()
    assert found[2].isfinite().all()


@pytest.mark.parametrize("precision", ["int8", "int4"])
def test_a_head_of_few_bits_is_exact_and_still_a_table(precision):
    made = head(WEIGHT, precision, unmoved)

    assert isinstance(made, Exact8)
    assert torch.equal(made.rows(torch.tensor([7])), Int8(WEIGHT).rows(torch.tensor([7])))
