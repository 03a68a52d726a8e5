"""A directory that somebody else made, or damaged with all its digests right: refused in words, never believed."""

import hashlib
import json
import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from random_models import random_source, random_spec
from saved_gguf import write_gguf
from saved_models import make, save

from backends.engine.spec import TensorSource
from backends.engine.store.quantise import QuantiseFailed, quantise
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.opening import open_weights
from backends.engine.weights.safetensors_files import KINDS, SafetensorsFiles
from backends.engine.weights.safetensors_write import Planned, write_safetensors

Tensors = dict[str, np.ndarray]


class Quiet:
    def start(self, what: str, total: int) -> None: ...
    def advance(self, count: int) -> None: ...


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return save(make("llama"), tmp_path_factory.mktemp("plain") / "plain")


@pytest.fixture(scope="module")
def made(plain):
    return quantise(plain, "int4", plain.parent / "made", Quiet()).path


@pytest.fixture
def copied(made, tmp_path):
    return shutil.copytree(made, tmp_path / "copied")


def relist(folder: Path, change: Callable[[dict[str, str]], None] = lambda files: None) -> Path:
    """Digests of the files as they are now, changed."""
    listed = json.loads((folder / "sha256.json").read_text())["files"]
    files = {name: hashlib.sha256((folder / name).read_bytes()).hexdigest() for name in listed}
    change(files)
    (folder / "sha256.json").write_text(json.dumps({"files": files}))
    return folder


def retensor(folder: Path, change: Callable[[Tensors], None]) -> Path:
    """Its tensors, changed, with the right digest."""
    files = SafetensorsFiles(folder, KINDS)
    tensors = {name: np.array(files.raw(name)) for name in files.entries}
    change(tensors)
    kinds = {np.dtype(kind): name for name, kind in KINDS.items()}
    planned = [Planned(name, kinds[values.dtype], values.shape) for name, values in tensors.items()]
    write_safetensors(folder / "model.safetensors", planned, tensors.values(), lambda _: None)
    return relist(folder)


def reconfigure(folder: Path, **marker: object) -> Path:
    config = json.loads((folder / "config.json").read_text())
    config["quantization_config"] |= marker
    (folder / "config.json").write_text(json.dumps(config))
    return relist(folder)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("part", [".scales", ".minima"])
def test_scales_that_are_no_numbers_are_refused_when_they_are_read(copied, part, value):
    own = "model.layers.1.self_attn.k_proj.weight" + part

    weights = open_weights(retensor(copied, lambda tensors: tensors[own].__setitem__((-1, -1), value)))

    for read in (weights.source.codes, weights.source.tensor):
        with pytest.raises(WeightsError, match=r"k_proj.*not finite"):
            read("layers.1.k")


@pytest.mark.parametrize(
    "change",
    [
        lambda tensors: tensors.pop("lm_head.weight.minima", None) or tensors.pop("model.norm.weight"),
        lambda tensors: tensors.update({n: v.view(np.int8) for n, v in tensors.items() if n.endswith(".codes")}),
        lambda tensors: tensors.update({n: v[:, :-1].copy() for n, v in tensors.items() if n.endswith(".codes")}),
        lambda tensors: tensors.update({n: v[:1].copy() for n, v in tensors.items() if n.endswith(".minima")}),
        lambda tensors: tensors.update({n: v.astype(np.float32) for n, v in tensors.items() if n.endswith(".scales")}),
    ],
    ids=["missing", "kind of codes", "narrow codes", "short minima", "kind of scales"],
)
def test_a_tensor_that_is_missing_or_of_another_kind_or_shape_is_refused(copied, change):
    with pytest.raises(WeightsError, match=r"the tensor .* (is missing|was expected)"):
        open_weights(retensor(copied, change))


@pytest.mark.parametrize(
    "marker", [{"group": 64}, {"group": "32"}, {"group": None}, {"precision": "int8"}, {"precision": ["int4"]}]
)
def test_a_config_that_lies_about_the_codes_is_refused(copied, marker):
    with pytest.raises(WeightsError):
        open_weights(reconfigure(copied, **marker))


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json", "chat_template.jinja"])
def test_a_file_that_is_read_must_have_a_digest(copied, name):
    with pytest.raises(WeightsError, match=f"{name} is not in sha256.json"):
        open_weights(relist(copied, lambda files: files.pop(name)))


def test_a_file_that_came_later_and_would_be_read_is_refused_and_one_that_would_not_be_is_nobodys_business(copied):
    (copied / "README.md").write_text("what this is")
    open_weights(copied)

    (copied / "added_tokens.json").write_text("{}")

    with pytest.raises(WeightsError, match=r"added_tokens\.json is not in sha256\.json"):
        open_weights(copied)


DIGESTS = {
    "long name": json.dumps({"files": {"a" * 5000: "x"}}),
    "zero byte": json.dumps({"files": {"a\0b": "x"}}),
    "surrogate": '{"files": {"\\ud800": "x"}}',
    "deep": '{"files": ' + "[" * 200_000,
    "path": json.dumps({"files": {"../../etc/passwd": "x"}}),
    "list": "[]",
    "numbers": '{"files": {"config.json": 1}}',
    "nothing": "",
}


@pytest.mark.parametrize("text", DIGESTS.values(), ids=DIGESTS)
def test_a_damaged_list_of_digests_is_refused_in_words(copied, text):
    (copied / "sha256.json").write_text(text)

    with pytest.raises(WeightsError) as refusal:
        open_weights(copied)

    assert sayable(refusal.value)


def sayable(error: Exception) -> bool:
    """Whether an operator can be shown it: of bounded length, and on one printable line."""
    return len(str(error)) <= 1000 and str(error).isprintable()


def index_of(names: object) -> Callable[[Path], object]:
    text = names if isinstance(names, str) else json.dumps({"weight_map": names})
    return lambda folder: (folder / "model.safetensors.index.json").write_text(text)


def head_of(described: object, length: int | None = None) -> Callable[[Path], object]:
    text = json.dumps(described).encode()
    whole = struct.pack("<Q", len(text) if length is None else length) + text
    return lambda folder: (folder / "model.safetensors").write_bytes(whole)


def config_of(**changes: object) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        (folder / "config.json").write_text(json.dumps(config | changes))

    return write


def piped(name: str) -> Callable[[Path], object]:
    def write(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return write


BROKEN = {"name": "default", "template": "{% for %}"}
HOSTILE = {
    "index: long name": index_of({"x": "a" * 5000 + ".safetensors"}),
    "index: zero byte": index_of({"x": "a\0.safetensors"}),
    "index: surrogate": index_of('{"weight_map": {"x": "\\ud800.safetensors"}}'),
    "index: above": index_of({"x": "../plain/model.safetensors"}),
    "index: absolute": index_of({"x": "/etc/passwd.safetensors"}),
    "index: list": index_of({"x": ["model.safetensors"]}),
    "index: deep": index_of("[" * 100_000),
    "head: longer than the file": head_of({}, 1 << 62),
    "head: nothing in it": head_of({}, 0),
    "head: product of sides overflows": head_of({"a": {"dtype": "F32", "shape": [1 << 62, 4], "data_offsets": [0, 0]}}),
    "head: kind": head_of({"a" * 10_000: {"dtype": "F64", "shape": [0], "data_offsets": [0, 0]}}),
    "config: deep": lambda folder: (folder / "config.json").write_text("[" * 100_000),
    "config: long word": config_of(hidden_size="9" * 500_000),
    "config: long architecture": config_of(architectures=["A" * 500_000]),
    "config: surrogate": config_of(architectures=["\ud800"]),
    "config: lines": config_of(hidden_act="a\n\x1b[2Jb"),
    "config: pipe": piped("config.json"),
    "tokenizer: list": lambda folder: (folder / "tokenizer.json").write_text("[]"),
    "tokenizer: pipe": piped("tokenizer.json"),
    "tokenizer config: templates": lambda folder: [
        (folder / "chat_template.jinja").unlink(),
        (folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": ["x", 7, BROKEN]})),
    ],
    "template: no text": lambda folder: (folder / "chat_template.jinja").write_bytes(b"\xff\xfe{{"),
    "template: no template": lambda folder: (folder / "chat_template.jinja").write_text("{% for %}"),
}


@pytest.mark.parametrize("harm", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_directory_is_refused_in_words(plain, tmp_path, harm):
    folder = shutil.copytree(plain, tmp_path / "hostile")
    harm(folder)

    with pytest.raises(WeightsError) as refusal:
        open_weights(folder)

    assert sayable(refusal.value)


NO_NUMBERS = [(precision, value) for precision in ("bfloat16", "int8", "int4") for value in (np.nan, np.inf, 3.4e38)]


@pytest.mark.parametrize(("precision", "value"), [*NO_NUMBERS, ("int8", 3e7), ("int4", 3e7)])
def test_weights_that_are_no_numbers_in_the_new_precision_are_not_written(tmp_path, precision, value):
    model = make("llama")
    model.get_parameter("model.layers.1.mlp.up_proj.weight").data[3, 5] = value
    source = save(model, tmp_path / "plain")

    with pytest.raises((QuantiseFailed, WeightsError), match=r"layers\.1\.up"):
        quantise(source, precision, tmp_path / "made", Quiet())

    assert [file.name for file in tmp_path.iterdir()] == ["plain"]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", ["safetensors", "gguf", "quantised"])
def test_weights_that_are_no_numbers_are_refused_when_they_are_read(tmp_path, form, value):
    def harm(tensors: Tensors) -> None:
        tensors["model.norm.weight"][3] = value

    if form == "gguf":
        spec = random_spec(layers=1, eos_ids=(258,), bos_id=None)
        path = write_gguf(tmp_path / "tiny.gguf", spec, Harmed(random_source(spec), value))
    else:
        model = make("llama")
        model.get_parameter("model.norm.weight").data[3] = value if form == "safetensors" else 1.0
        path = save(model, tmp_path / "plain")
    if form == "quantised":
        path = retensor(quantise(path, "int8", tmp_path / "made", Quiet()).path, harm)

    with pytest.raises(WeightsError, match="norm holds numbers that are not finite"):
        open_weights(path).source.tensor("norm")


class Harmed:
    """A source whose last norm has one value that is none."""

    def __init__(self, source: TensorSource, value: float) -> None:
        self._source, self._value = source, value

    def tensor(self, name: str) -> np.ndarray:
        values = self._source.tensor(name).copy()
        if name == "norm":
            values[3] = self._value
        return values
