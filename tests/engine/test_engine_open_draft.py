"""A draft is other weights, or the same ones held smaller; it must speak the target's tokens."""

import asyncio
import json

import pytest
from generating import until
from saved_models import make, save

from backends.engine.open import open_engine
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.opening import open_weights
from policies.catalogue import Run

RUN = Run(weights="large", precision="float32", speculate="draft", draft="small", kv_tokens=256)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    return [save(make("llama", seed), folder / name) for seed, name in enumerate(("large", "small"))]


async def test_weights_with_the_same_tokenizer_draft_and_are_loaded_with_the_target(saved):
    large, small = saved

    upstream = open_engine(RUN, large, draft=small)
    try:
        await asyncio.to_thread(until, lambda: upstream.load().ready)
    finally:
        await upstream.aclose()

    assert open_weights(large).tokenizer.differs_from(open_weights(small).tokenizer) is None


def test_a_draft_that_speaks_other_tokens_is_refused_by_name(saved, tmp_path):
    large, _ = saved
    other = save(make("llama", 2), tmp_path / "other")
    vocabulary = json.loads((other / "tokenizer.json").read_text())["model"]["vocab"]
    first, second = list(vocabulary)[65:67]

    told = (other / "tokenizer.json").read_text()
    swapped = json.loads(told)
    words = swapped["model"]["vocab"]
    words[first], words[second] = words[second], words[first]
    (other / "tokenizer.json").write_text(json.dumps(swapped))

    with pytest.raises(
        WeightsError, match=r"other cannot draft for large: token \d+ means b'.*'; a draft needs the same"
    ):
        open_engine(RUN, large, draft=other)
