"""llama.cpp through its Python binding, in an environment of its own: one round, printed as one line of JSON.

    PEER_PYTHON loadtests/peers/llama_cpp_bench.py WEIGHTS.gguf --kind Q8_0 --cache DIR --prompt 32 --new 128 --batch 1 4 8 16

Needs `llama-cpp-python` built with the machine's own instructions. WEIGHTS is requantised once. As llama.cpp's own
batched benchmark does, steps feed fixed tokens and ask for logits of every sequence; no sampling is timed.
"""

import argparse
import ctypes
import json
import os
import time
from pathlib import Path

import llama_cpp as lc

KINDS = {
    "Q8_0": lc.LLAMA_FTYPE_MOSTLY_Q8_0,
    "Q4_0": lc.LLAMA_FTYPE_MOSTLY_Q4_0,
    "BF16": lc.LLAMA_FTYPE_MOSTLY_BF16,
}
PREFILL_TOKENS = 512


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
        params.n_ctx, params.n_batch, params.n_ubatch = window * widest, PREFILL_TOKENS, PREFILL_TOKENS
        params.n_seq_max, params.n_threads, params.n_threads_batch = widest, threads, threads
        self.context = lc.llama_init_from_model(self.model, params)
        self.batch = lc.llama_batch_init(PREFILL_TOKENS, 0, widest)

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

    def prompt(self, length: int, sequence: int) -> None:
        for position in range(length):
            self.add(1000 + position, position, sequence, position == length - 1)
        self.decode()

    def prefill_s(self) -> float:
        self.clear()
        start = time.perf_counter()
        self.prompt(PREFILL_TOKENS, 0)
        return time.perf_counter() - start

    def decode_s(self, batch: int, prompt: int, new: int) -> float:
        """Seconds for `new` steps of `batch` sequences, their prompts not counted."""
        self.clear()
        for sequence in range(batch):
            self.prompt(prompt, sequence)
        start = time.perf_counter()
        for step in range(new):
            for sequence in range(batch):
                self.add(2000 + step, prompt + step, sequence, True)
            self.decode()
        return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("--kind", choices=KINDS, required=True)
    parser.add_argument("--cache", type=Path, required=True)
    parser.add_argument("--prompt", type=int, default=32)
    parser.add_argument("--new", type=int, default=128)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 4, 8, 16])
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    args = parser.parse_args()
    args.cache.mkdir(parents=True, exist_ok=True)
    path = requantised(args.weights, args.kind, args.cache)
    window = max(args.prompt + args.new, PREFILL_TOKENS)
    bench = Bench(path, args.threads, window, max(args.batch))
    bench.decode_s(1, args.prompt, 8)
    decode = {n: n * args.new / bench.decode_s(n, args.prompt, args.new) for n in args.batch}
    print(json.dumps({"decode_tps": decode, "prefill_tps": PREFILL_TOKENS / bench.prefill_s()}))


if __name__ == "__main__":
    main()
