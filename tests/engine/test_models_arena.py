"""Weights in an arena are the weights."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from backends.engine.layers.arena import LINE, Arena

KINDS = st.sampled_from([torch.uint8, torch.int8, torch.bfloat16, torch.float32])
SHAPES = st.tuples(st.integers(1, 40), st.integers(1, 40))


@given(st.lists(st.tuples(KINDS, SHAPES), min_size=1, max_size=8))
def test_what_an_arena_holds_is_equal_apart_and_aligned(wanted):
    arena = Arena(chunk=2048)
    tensors = [torch.arange(rows * columns).reshape(columns, rows).t().to(kind) for kind, (rows, columns) in wanted]

    held = [arena.hold(tensor) for tensor in tensors]

    for tensor, copy in zip(tensors, held, strict=True):
        assert torch.equal(tensor, copy)
        assert copy.is_contiguous() or copy.data_ptr() == tensor.data_ptr()
        assert copy.data_ptr() % LINE == 0 or copy.data_ptr() == tensor.data_ptr()


def test_a_tensor_of_another_device_is_given_back():
    tensor = torch.empty(3, device="meta")

    assert Arena().hold(tensor) is tensor
