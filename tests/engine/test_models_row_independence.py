"""Whatever the schedule, the bits are the same: in every precision, whatever shares the step, however it is cut."""

from itertools import product

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import random_source, random_spec
from steps_by_hand import Rows, logits_of, step_of

from backends.engine.models.torch_model import TorchModel

PRECISIONS = ["float32", "bfloat16", "int8", "int4"]
SHAPES = {
    "tiny": random_spec(),
    "qwen3": random_spec("qwen3", heads=4, kv_heads=4),
    "smollm": random_spec(hidden=576, heads=9, kv_heads=3, head_dim=64, mlp=1536, layers=1),
    "window": random_spec("mistral", sliding_window=24),
}
KV_PRECISIONS = ["native", "int8"]
MODELS: dict[tuple[str, str, str], TorchModel] = {}
"""Built once for each shape and precisions; a forward pass over fresh positions leaves nothing behind that matters."""


def model_of(shape: str, precision: str, kv: str) -> TorchModel:
    key = shape, precision, kv
    if key not in MODELS:
        MODELS[key] = TorchModel(
            SHAPES[shape], random_source(SHAPES[shape]), precision, blocks=96, kv_precision=kv, threads=1
        )
    return MODELS[key]


def tokens_of(count: int, seed: int) -> list[int]:
    return np.random.default_rng(seed).integers(0, 320, count).tolist()


def blocks_of(seed: int, count: int = 20) -> list[int]:
    return np.random.default_rng(seed).permutation(96)[:count].tolist()


@pytest.fixture(params=list(product(SHAPES, PRECISIONS, KV_PRECISIONS)), ids="-".join)
def model(request):
    return model_of(*request.param)


def test_a_row_has_the_same_bits_among_any_number_of_rows(model):
    tokens = tokens_of(41, seed=3)
    alone = logits_of(model, tokens, range(3), cuts=range(1, 41))

    for rows in range(2, 42):
        together = logits_of(model, tokens, range(3), cuts=range(rows, 41, rows))
        assert np.array_equal(together, alone), f"{rows} rows at a time change the bits"


@pytest.mark.slow
@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_row_has_the_same_bits_among_others_with_two_threads(precision):
    model = TorchModel(SHAPES["smollm"], random_source(SHAPES["smollm"]), precision, blocks=4, threads=2)
    tokens = tokens_of(41, seed=3)

    together = logits_of(model, tokens, range(3))

    assert np.array_equal(together, logits_of(model, tokens, range(3), cuts=[1, 2, 5, 12, 29]))
    torch.set_num_threads(1)


def test_a_sequence_has_the_same_bits_in_any_batch(model):
    lengths = [1, 40, 17, 3, 64, 16, 33, 2]
    texts = [tokens_of(length, seed=length) for length in lengths]
    tables = [list(range(index * 5, index * 5 + 5)) for index in range(len(texts))]
    alone = [logits_of(model, text, table) for text, table in zip(texts, tables, strict=True)]

    together = model.forward(step_of(*(Rows(text, 0, table) for text, table in zip(texts, tables, strict=True))))

    assert np.array_equal(together, np.concatenate(alone))


def test_where_blocks_lie_changes_no_bit(model):
    tokens = tokens_of(300, seed=5)

    in_a_row = logits_of(model, tokens, range(30, 49), cuts=[100])
    scattered = logits_of(model, tokens, blocks_of(seed=8), cuts=[100])

    assert np.array_equal(in_a_row, scattered)


@settings(max_examples=15, deadline=None)
@given(
    precision=st.sampled_from(PRECISIONS),
    kv=st.sampled_from(KV_PRECISIONS),
    shape=st.sampled_from(["tiny", "qwen3", "window"]),
    cuts=st.lists(st.integers(1, 599), max_size=6),
    length=st.sampled_from([20, 255, 300, 600]),
)
def test_a_chunked_prefill_has_the_bits_of_a_whole_one(precision, kv, shape, cuts, length):
    spec = random_spec(SHAPES[shape].family, heads=4, kv_heads=SHAPES[shape].kv_heads,
                       sliding_window=SHAPES[shape].sliding_window, context=1024)  # fmt: skip
    model = MODELS.setdefault(
        (shape + "-long", precision, kv),
        TorchModel(spec, random_source(spec), precision, blocks=96, kv_precision=kv, threads=1),
    )
    tokens = tokens_of(length, seed=length)

    whole = logits_of(model, tokens, range(40))
    chunked = logits_of(model, tokens, blocks_of(seed=length, count=40), cuts=[cut for cut in cuts if cut < length])

    assert np.array_equal(whole, chunked)


def test_what_an_earlier_owner_left_in_a_block_is_never_seen(model):
    tokens = tokens_of(20, seed=9)
    clean = logits_of(model, tokens, [50, 51])

    with torch.inference_mode():
        model._pool.kv[:, :, 50:52].fill_(float("nan"))

    assert np.array_equal(logits_of(model, tokens, [50, 51]), clean)
