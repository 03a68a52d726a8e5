"""A path → weights that can be loaded, whatever form they are stored in."""

from dataclasses import dataclass
from pathlib import Path

from backends.engine.spec import ModelSpec, TensorSource
from backends.engine.text.gguf_vocabulary import gguf_tokenizer
from backends.engine.text.huggingface import directory_tokenizer
from backends.engine.text.template import TemplateFault
from backends.engine.tokenizer import Tokenizer
from backends.engine.weights.coded_directory import CodedDirectory
from backends.engine.weights.config import coded_precision, read_config
from backends.engine.weights.directory import Directory
from backends.engine.weights.faults import WeightsError, pickled
from backends.engine.weights.gguf_file import GgufFile
from backends.engine.weights.manifest import MANIFEST, check_manifest
from backends.engine.weights.revision import revision_of


@dataclass(frozen=True, slots=True)
class OpenedWeights:
    """Weights whose headers are checked and whose tensors are not read yet."""

    spec: ModelSpec
    source: TensorSource
    tokenizer: Tokenizer
    revision: str


def open_weights(path: Path) -> OpenedWeights:
    """Open a GGUF file, a directory holding exactly one, or a Hugging Face directory.

    Raises WeightsError with what is wrong and what would be right.
    """
    if not path.exists():
        raise WeightsError(f"{path}: there is nothing here")
    try:
        return _gguf(path) if path.is_file() else _from_directory(path)
    except TemplateFault as fault:
        raise WeightsError(f"{path.name}: {fault}") from fault
    except OSError as fault:
        raise WeightsError(f"{path.name}: cannot be read ({fault})") from fault


def _from_directory(path: Path) -> OpenedWeights:
    files = sorted(path.glob("*.gguf"))
    if (path / "config.json").is_file() or not files:
        return _directory(path)
    if len(files) > 1:
        raise WeightsError(f"{path.name}: {len(files)} GGUF files here; name one, such as {files[0].name}")
    return _gguf(files[0])


def _gguf(path: Path) -> OpenedWeights:
    if path.suffix in (".bin", ".pt", ".pth", ".ckpt", ".pkl"):
        raise pickled(path)
    file = GgufFile(path)
    tokenizer = gguf_tokenizer(file.header.metadata, file.spec, path.name)
    return OpenedWeights(file.spec, file, tokenizer, revision_of([path]))


def _directory(path: Path) -> OpenedWeights:
    precision = coded_precision(read_config(path))
    if precision or (path / MANIFEST).is_file():
        check_manifest(path)
    directory = CodedDirectory(path, precision) if precision else Directory(path)
    tokenizer = directory_tokenizer(path, directory.spec)
    named = [path / name for name in ("config.json", "tokenizer.json", "tokenizer_config.json")]
    return OpenedWeights(
        directory.spec, directory, tokenizer, revision_of([*directory.files.paths, *(p for p in named if p.is_file())])
    )
