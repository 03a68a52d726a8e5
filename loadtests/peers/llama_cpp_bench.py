"""llama.cpp through its Python binding, in an environment of its own: one round, printed as one line of JSON.

    PEER_PYTHON loadtests/peers/llama_cpp_bench.py WEIGHTS.gguf WORKLOAD.json --kind Q8_0 --cache DIR

Needs `llama-cpp-python` built with the machine's own instructions. WEIGHTS is requantised to the kind once. As llama.cpp's
own batched benchmark does, steps feed tokens that stand fixed and ask for logits of every sequence; no sampling is timed.
It spins at OpenMP barriers: beside a busy neighbour its numbers fall tenfold, so measure it on a quiet machine.
"""

import argparse
import ctypes
import json
import os
import time
from pathlib import Path
from statistics import median

import llama_cpp as lc
from figures import print_figures

KINDS = {
    "Q8_0": lc.LLAMA_FTYPE_MOSTLY_Q8_0,
    "Q4_0": lc.LLAMA_FTYPE_MOSTLY_Q4_0,
    "BF16": lc.LLAMA_FTYPE_MOSTLY_BF16,
}
STEP_TOKENS = 512


def requantised(weights: Path, kind: str, cache: Path) -> Path:
    """The weights in another format, made once."""
    target = cache / f"{weights.stem}.{kind}.gguf"
    if not target.exists():
        params = lc.llama_model_quantize_default_params()
        params.ftype, params.allow_requantize, params.nthread = KINDS[kind], True, os.cpu_count() or 1
        partial = target.with_suffix(".partial")
        status = lc.llama_model_quantize(str(weights).encode(), str(partial).encode(), ctypes.byref(params))
        if status:
            raise SystemExit(f"llama.cpp could not write {kind} (status {status})")
        partial.rename(target)
    return target


class Bench:
    """One model in one context that is wide enough for every batch."""

    def __init__(self, path: Path, threads: int, window: int, widest: int) -> None:
        lc.llama_backend_init()
        self.model = lc.llama_model_load_from_file(str(path).encode(), lc.llama_model_default_params())
        params = lc.llama_context_default_params()
        params.n_ctx, params.n_batch, params.n_ubatch = window * widest, STEP_TOKENS, STEP_TOKENS
        params.n_seq_max, params.n_threads, params.n_threads_batch = widest, threads, threads
        self.context = lc.llama_init_from_model(self.model, params)
        self.batch = lc.llama_batch_init(STEP_TOKENS, 0, widest)

    def clear(self) -> None:
        lc.llama_memory_clear(lc.llama_get_memory(self.context), True)

    def add(self, token: int, position: int, sequence: int, wants_logits: bool) -> None:
        i = self.batch.n_tokens
        self.batch.token[i], self.batch.pos[i] = token, position
        self.batch.n_seq_id[i], self.batch.seq_id[i][0] = 1, sequence
        self.batch.logits[i] = wants_logits
        self.batch.n_tokens = i + 1

    def decode(self) -> None:
        if lc.llama_decode(self.context, self.batch):
            raise SystemExit("llama_decode failed")
        lc.llama_synchronize(self.context)
        self.batch.n_tokens = 0

    def read(self, prompt: list[int], sequence: int) -> None:
        for position, token in enumerate(prompt):
            self.add(token, position, sequence, position == len(prompt) - 1)
        self.decode()

    def prefill_s(self, prompt: list[int]) -> float:
        self.clear()
        start = time.perf_counter()
        self.read(prompt, 0)
        return time.perf_counter() - start

    def decode_s(self, prompts: list[list[int]], new: int) -> float:
        """Seconds for `new` steps of all sequences, their prompts not counted."""
        self.clear()
        for sequence, prompt in enumerate(prompts):
            self.read(prompt, sequence)
        start = time.perf_counter()
        for step in range(new):
            for sequence, prompt in enumerate(prompts):
                self.add(prompt[step % len(prompt)], len(prompt) + step, sequence, True)
            self.decode()
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("workload", type=Path)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    load = json.loads(args.workload.read_text())
    args.cache.mkdir(parents=True, exist_ok=True)
    path = requantised(args.weights, args.kind, args.cache)
    longest = max(len(prompt) for prompt in load["decode"]) + load["new"]
    window = max(longest, *(len(prompt) for prompt in load["prefill"]))
    began = time.perf_counter()
    bench = Bench(path, args.threads, window, max(load["batches"]))
    load_s = time.perf_counter() - began
    bench.decode_s(load["decode"][:1], 8)
    decode = {n: n * load["new"] / bench.decode_s(load["decode"][:n], load["new"]) for n in load["batches"]}
    first = median(bench.prefill_s(prompt) for prompt in load["prefill"])
    print_figures(load_s, first, len(load["prefill"][0]), decode)


if __name__ == "__main__":
    main()
