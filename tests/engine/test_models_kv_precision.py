"""The precision of keys and values is an option of a run: its cached prefixes are its own, and it reaches the model."""

import asyncio

import pytest
from generating import until
from saved_models import make, save
from steps_by_hand import logits_of

from backends.engine.open import model_of, open_engine
from backends.engine.weights.opening import open_weights
from policies.catalogue import Run

RUNS = [Run(weights="tiny", precision="float32", kv_precision=kv, kv_tokens=64) for kv in ("native", "int8")]


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    return save(make("llama", 0), tmp_path_factory.mktemp("models") / "tiny")


async def test_prefixes_cached_in_one_kv_precision_are_never_taken_for_anothers(saved):
    upstreams = [open_engine(run, saved) for run in RUNS]
    try:
        for upstream in upstreams:
            await asyncio.to_thread(until, lambda upstream=upstream: upstream.load().ready)
        assert len({upstream.revision for upstream in upstreams}) == 2
    finally:
        for upstream in upstreams:
            await upstream.aclose()


def test_the_option_moves_the_models_numbers_a_little(saved):
    weights = open_weights(saved)
    native, int8 = (logits_of(model_of(run, weights), list(range(40, 60)), [0, 1]) for run in RUNS)

    assert 0 < abs(native - int8).max() < 0.1 * abs(native).max()
