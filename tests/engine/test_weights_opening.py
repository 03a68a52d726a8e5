"""Opening weights: what is promised is checked, and what cannot be used is refused by name."""

import json
import struct
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from random_models import random_source, random_spec
from saved_gguf import write_gguf
from saved_models import make, save

from backends.engine.weights.faults import WeightsError
from backends.engine.weights.gguf_file import GgufFile
from backends.engine.weights.gguf_header import read_header
from backends.engine.weights.opening import open_weights
from backends.engine.weights.shapes import shapes


@pytest.fixture
def gguf(tmp_path):
    spec = random_spec(layers=1, eos_ids=(258,), bos_id=None)
    return write_gguf(tmp_path / "tiny.gguf", spec, random_source(spec)), spec


def test_a_gguf_file_gives_the_tensors_that_went_into_it_with_rotary_rows_put_back(gguf):
    path, spec = gguf
    source = random_source(spec)

    file = GgufFile(path)

    assert (file.spec.layers, file.spec.head_dim, file.spec.tied_head) == (spec.layers, spec.head_dim, True)
    for name in shapes(spec):
        close = 0.02 if name.endswith("gate") else 0.0
        assert np.abs(file.tensor(name) - source.tensor(name)).max() <= close, name


@pytest.mark.parametrize("family", ["llama", "mistral", "qwen2", "qwen3"])
def test_shards_give_the_same_tensors_as_one_file(tmp_path, family):
    model = make(family)
    whole = open_weights(save(model, tmp_path / "whole"))

    sharded = open_weights(save(model, tmp_path / "sharded", shard="60KB"))

    assert len(list((tmp_path / "sharded").glob("*.safetensors"))) > 1
    assert (sharded.spec, sharded.spec.family) == (whole.spec, family)
    assert sharded.revision != whole.revision
    for name in shapes(whole.spec):
        assert np.array_equal(sharded.source.tensor(name), whole.source.tensor(name))


def test_the_revision_changes_with_one_weight_and_not_with_the_place(tmp_path):
    first = open_weights(save(make("llama"), tmp_path / "a")).revision

    assert open_weights(save(make("llama"), tmp_path / "b")).revision == first
    assert open_weights(save(make("llama", seed=1), tmp_path / "c")).revision != first


def test_an_unsupported_architecture_is_named_with_those_that_are(tmp_path):
    path = save(make("llama"), tmp_path / "m")
    edit(path, architectures=["GemmaForCausalLM"])

    with pytest.raises(WeightsError, match=r"GemmaForCausalLM is not supported.*Qwen3ForCausalLM"):
        open_weights(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"num_hidden_layers": 10**9}, "num_hidden_layers"),
        ({"num_hidden_layers": 3}, r"layers.2.attn_norm is missing"),
        ({"hidden_size": -1}, "hidden_size"),
        ({"num_attention_heads": True}, "num_attention_heads"),
        ({"num_key_value_heads": 3}, "do not divide"),
        ({"vocab_size": 321}, "embed has shape"),
        ({"hidden_act": "gelu"}, "gelu"),
        ({"attention_bias": True}, "attention_bias"),
        ({"rope_parameters": {"rope_type": "yarn", "rope_theta": 1e4}}, "yarn"),
        ({"eos_token_id": 5000}, "outside the vocabulary"),
        ({"quantization_config": {"bits": 4}}, "quantised in advance"),
    ],
)
def test_a_config_that_lies_is_refused_by_the_name_of_its_field(tmp_path, changes, message):
    path = save(make("llama"), tmp_path / "m")
    (path / "generation_config.json").unlink(missing_ok=True)
    edit(path, **changes)

    with pytest.raises(WeightsError, match=message):
        open_weights(path)


def edit(path, **changes):
    config = json.loads((path / "config.json").read_text())
    (path / "config.json").write_text(json.dumps(config | changes))


def test_pickled_weights_are_refused_by_name(tmp_path):
    path = save(make("llama"), tmp_path / "m")
    (path / "model.safetensors").rename(path / "pytorch_model.bin")

    with pytest.raises(WeightsError, match=r"pytorch_model\.bin: pickled"):
        open_weights(path)


def test_a_shard_outside_the_directory_is_refused(tmp_path):
    path = save(make("llama"), tmp_path / "m", shard="60KB")
    index = path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"lm_head.weight": "../../elsewhere.safetensors"}}))

    with pytest.raises(WeightsError, match="no safetensors file beside it"):
        open_weights(path)


def test_a_shard_that_did_not_arrive_is_named(tmp_path):
    path = save(make("llama"), tmp_path / "m", shard="60KB")
    missing = sorted(path.glob("*.safetensors"))[1]
    missing.unlink()

    with pytest.raises(WeightsError, match=f"its shard {missing.name} is missing"):
        open_weights(path)


def test_a_truncated_safetensors_file_is_refused(tmp_path):
    path = save(make("llama"), tmp_path / "m")
    whole = (path / "model.safetensors").read_bytes()

    for keep in (0, 7, 100, len(whole) - 1):
        (path / "model.safetensors").write_bytes(whole[:keep])
        with pytest.raises(WeightsError, match="damaged or cut short"):
            open_weights(path)


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_a_damaged_gguf_head_is_refused_or_read_but_never_crashes(data, tmp_path_factory):
    whole = damaged_source(tmp_path_factory)
    size = data.draw(st.integers(0, 1200))
    at, value = data.draw(st.integers(0, 1200)), data.draw(st.binary(min_size=1, max_size=8))
    broken = whole[:at] + value + whole[at + len(value) :]

    for candidate in (whole[:size], broken):
        with suppress(WeightsError):
            read_header(memoryview(candidate), "broken.gguf")


KEPT: list[bytes] = []


def damaged_source(tmp_path_factory):
    if not KEPT:
        spec = random_spec(layers=1)
        KEPT.append(write_gguf(tmp_path_factory.mktemp("gguf") / "whole.gguf", spec, random_source(spec)).read_bytes())
    return KEPT[0]


def test_a_gguf_count_larger_than_the_file_is_refused_before_it_is_believed():
    head = b"GGUF" + struct.pack("<IQQ", 3, 1 << 60, 1)

    with pytest.raises(WeightsError, match="damaged or cut short"):
        read_header(memoryview(head), "huge.gguf")


def test_a_truncated_gguf_file_is_refused_with_both_sizes(gguf):
    path, _ = gguf
    whole = path.read_bytes()
    path.write_bytes(whole[:-40_000])

    with pytest.raises(WeightsError, match=f"the file has {len(whole) - 40_000}"):
        open_weights(path)
