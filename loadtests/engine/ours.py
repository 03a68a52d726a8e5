"""One round of our engine in a process of its own, printed as one line of JSON.

python -m loadtests.engine.ours MODEL --precision int8 [--path native|torch]
"""

import argparse
import json
import time
from pathlib import Path
from statistics import fmean, median

from backends.engine.api import Job, LanguageModel, Output
from backends.engine.batch import Batch
from backends.engine.loop import Engine
from backends.engine.models.native_model import NativeModel
from backends.engine.weights.opening import OpenedWeights, open_weights
from loadtests.engine.memory import MB, embedding_mb, kv_pool_mb, resident_mb
from loadtests.engine.running import GREEDY, Endless, batch_of, build_model, decode_s, prefill_s, step_by_step
from loadtests.engine.workload import BATCHES, DECODE_NEW, PREFILL_TOKENS, Workload, workload
from policies.catalogue import Precision

BLOCKS = 192
"""Room for 16 sequences of 161 tokens and little more, so that all of the pool is touched and counts as memory."""
BOUND_STEPS = 256
READY_WITHIN_S = 300.0


class Contender:
    """A loaded engine, its batch, and how long the loading took."""

    def __init__(self, path: Path, kind: str, precision: Precision) -> None:
        began = time.perf_counter()
        self.weights: OpenedWeights = open_weights(path)
        self.batch: Batch | None = None
        self.model: LanguageModel | None = None
        self._kind, self._precision = kind, precision
        self.engine = Engine(self._build, name="loadtest")
        while self.engine.why_not:
            if time.perf_counter() - began > READY_WITHIN_S:
                raise SystemExit(f"the engine did not get ready: {self.engine.why_not}")
            time.sleep(0.002)
        self.load_s = time.perf_counter() - began

    def _build(self) -> Batch:
        self.model = build_model(self.weights, self._kind, self._precision, BLOCKS)
        self.batch = batch_of(self.model, Endless(self.weights.tokenizer))
        return self.batch

    def first_token_s(self, prompt: list[int]) -> float:
        """Through the engine's thread: submit to the first delivery."""
        arrived: list[float] = []
        ended: list[Output] = []

        def deliver(output: Output) -> None:
            arrived.append(time.perf_counter())
            ended.append(output)

        began = time.perf_counter()
        self.engine.submit(Job(tuple(prompt), GREEDY, 1), deliver)
        while not ended:
            time.sleep(0.0005)
        return arrived[0] - began


def sweep_s(model: NativeModel) -> float:
    """Seconds in which all weights are read, from huge pages, with all threads, and nothing else is done; the better of two."""
    seconds = []
    for _ in range(2):
        began = time.perf_counter()
        model.read_weights()
        seconds.append(time.perf_counter() - began)
    return min(seconds)


def bound(batch: Batch, model: NativeModel, prompt: list[int]) -> dict[str, float]:
    """Steps per second at batch 1 if a step only read its weights, and the share of it that real steps reach.

    Reads and steps take turns, eight steps to a read, and means are compared: the memory's speed jumps between two levels with
    guests of the host that cannot be seen, and both must have seen the same ones.
    """
    steps, sweeps = [], []
    for took in step_by_step(batch, prompt, BOUND_STEPS):
        steps.append(took)
        if len(steps) % 8 == 0:
            sweeps.append(sweep_s(model))
    best = fmean(sweeps)
    gb_s = model.weight_bytes() / best / 1e9
    return {"bandwidth_bound_tps": 1 / best, "bandwidth_gb_s": gb_s, "bandwidth_share": best / fmean(steps)}


def parts_mb(contender: Contender, precision: Precision) -> dict[str, float]:
    """What the packed model needs, and what the process holds beyond it at its peak."""
    spec, number = contender.weights.spec, 4 if precision == "float32" else 2
    parts = {"kv_pool": kv_pool_mb(spec, BLOCKS, number), **resident_mb()}
    if isinstance(contender.model, NativeModel):
        parts["weights"] = contender.model.weight_bytes() / MB + embedding_mb(spec, number)
        parts["beyond"] = parts["peak"] - parts["weights"] - parts["kv_pool"]
    return parts


def figures(contender: Contender, precision: Precision, load: Workload) -> dict[str, object]:
    result: dict[str, object] = {"load_s": contender.load_s}
    contender.first_token_s(load.prefill[0])
    result["ttft_ms"] = median(contender.first_token_s(prompt) for prompt in load.prefill[1:]) * 1000
    contender.engine.close()
    batch, model = contender.batch, contender.model
    assert batch is not None
    decode_s(batch, load.decode[:1], 16)
    result["decode_tps"] = {n: n * DECODE_NEW / decode_s(batch, load.decode[:n], DECODE_NEW) for n in BATCHES}
    if isinstance(model, NativeModel):
        result |= bound(batch, model, load.decode[0])
    result["prefill_tps"] = PREFILL_TOKENS / median(prefill_s(batch, prompt) for prompt in load.prefill)
    return result | {"memory_mb": parts_mb(contender, precision)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path)
    parser.add_argument("--precision", choices=("float32", "bfloat16", "int8", "int4"), required=True)
    parser.add_argument("--path", choices=("native", "torch"), default="native")
    args = parser.parse_args()
    contender = Contender(args.model, args.path, args.precision)
    print(json.dumps(figures(contender, args.precision, workload(contender.weights.spec.vocab_size))))


if __name__ == "__main__":
    main()
