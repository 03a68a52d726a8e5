"""Who takes part: ours by path and precision, peers by what is installed. Each round of each is a process of its own."""

import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

PEERS = Path(__file__).parents[1] / "peers"
ROUND_LIMIT_S = 600
TORCH_PRECISIONS = ("int4", "int8", "bfloat16")
SCRIPTS = {
    "transformers": PEERS / "transformers_bench.py",
    "llamacpp": PEERS / "llama_cpp_bench.py",
    "openvino": PEERS / "openvino_bench.py",
    "vllm": PEERS / "vllm_bench.py",
}
MODULES = {"transformers": "transformers", "llamacpp": "llama_cpp", "openvino": "openvino_genai", "vllm": "vllm"}
"""What an interpreter can import when it has the peer."""
VARIANTS: dict[str, dict[str, tuple[str, ...]]] = {
    "transformers": {dtype: ("--dtype", dtype) for dtype in ("bfloat16", "float32")},
    "llamacpp": {weights: ("--kind", weights, "--cache", "{cache}") for weights in ("Q8_0", "Q4_0", "BF16")},
    "openvino": {"int8": ()},
    "vllm": {"bfloat16": ()},
}

Tree = dict[str, object]


@dataclass(frozen=True)
class Contender:
    """`group` and `name` are its place in the results; `command` prints one line of JSON."""

    group: str
    name: str
    command: tuple[str, ...]

    def round(self) -> Tree:
        """Raises RoundFailed."""
        try:
            done = subprocess.run(self.command, capture_output=True, text=True, timeout=ROUND_LIMIT_S, check=False)
        except subprocess.TimeoutExpired as late:
            raise RoundFailed(f"took more than {ROUND_LIMIT_S} s") from late
        except OSError as missing:
            raise RoundFailed(str(missing)) from missing
        if done.returncode:
            raise RoundFailed(
                done.stderr.strip().splitlines()[-1] if done.stderr.strip() else f"exit {done.returncode}"
            )
        found = json.loads(done.stdout.strip().splitlines()[-1])
        assert isinstance(found, dict)
        return found


class RoundFailed(RuntimeError):
    """A contender gave no numbers; the message says why."""


@dataclass(frozen=True)
class Places:
    """Where things are: the model to measure, a directory for what peers make of it, and the workload."""

    model: Path
    cache: Path
    workload: Path

    @property
    def directory(self) -> Path:
        """The model as a Hugging Face directory."""
        return self.model if self.model.is_dir() else self.cache / f"{self.model.stem}-directory"

    @property
    def openvino(self) -> Path:
        return self.cache / f"{self.model.stem}-openvino-int8"


def ours(places: Places, precisions: Sequence[str]) -> Iterator[Contender]:
    for path, chosen in (("native", precisions), ("torch", [p for p in precisions if p in TORCH_PRECISIONS])):
        for precision in chosen:
            command = _module("ours", places, "--path", path, "--precision", precision)
            yield Contender("ours" if path == "native" else path, precision, command)


def speculating(places: Places, precision: str, max_draft: int) -> Contender:
    command = _module("speculation", places, "--precision", precision, "--max-draft", str(max_draft))
    return Contender("speculation", precision, command)


def _module(name: str, places: Places, *options: str) -> tuple[str, ...]:
    return (sys.executable, "-m", f"loadtests.engine.{name}", str(places.model), *options)


def installed() -> dict[str, str]:
    """The peers that this interpreter has."""
    return {kind: sys.executable for kind, module in MODULES.items() if find_spec(module) is not None}


def peers(places: Places, pythons: Mapping[str, str]) -> Iterator[Contender]:
    """`pythons` maps a kind of peer to the interpreter that has it."""
    load, cache = str(places.workload), str(places.cache)
    for kind, python in pythons.items():
        source = {"llamacpp": places.model, "openvino": places.openvino}.get(kind, places.directory)
        for name, options in VARIANTS[kind].items():
            more = [option.format(cache=cache) for option in options]
            yield Contender("peers", f"{kind}-{name}", (python, str(SCRIPTS[kind]), str(source), load, *more))


def prepare(places: Places, pythons: Mapping[str, str]) -> dict[str, str]:
    """Write what peers need and lack: a Hugging Face directory, OpenVINO's own format. Minutes, the first time.

    Returns why, by kind of peer, where that failed.
    """
    why: dict[str, str] = {}
    for kind, python in pythons.items():
        try:
            _prepare(places, kind, python)
        except (subprocess.CalledProcessError, OSError) as fault:
            why[kind] = f"its form of the model could not be made: {fault}"
    return why


def _prepare(places: Places, kind: str, python: str) -> None:
    if kind == "llamacpp":
        return
    if not _complete(places.directory):
        exporter = sys.executable if "transformers" in installed() else python
        _make(exporter, str(PEERS / "export_directory.py"), str(places.model), str(places.directory))
    if kind == "openvino" and not _complete(places.openvino):
        options = ("--task", "text-generation-with-past", "--weight-format", "int8", str(places.openvino))
        command = str(Path(python).with_name("optimum-cli"))
        _make(command, "export", "openvino", "--model", str(places.directory), *options)


def _make(*command: str) -> None:
    """What it prints goes to stderr: stdout is for results."""
    subprocess.run(command, check=True, stdout=sys.stderr)


def _complete(directory: Path) -> bool:
    return (directory / "config.json").exists()
