"""OpenVINO GenAI, its continuous batching pipeline: one round, printed as one line of JSON.

    PEER_PYTHON loadtests/peers/openvino_bench.py DIR WORKLOAD.json [--cache GB]

DIR is what `optimum-cli export openvino --model HF_DIR --task text-generation-with-past --weight-format int8 DIR` wrote; HF_DIR
comes from `export_directory.py` if need be. Decoding is the time of 1 + n tokens less the time of 1.
"""

import argparse
import json
import time
from statistics import median

import numpy as np
import openvino as ov
import openvino_genai as genai
from figures import print_figures


class Pipeline:
    """A scheduler wide enough for every batch; prefixes are not cached, so a repeated prompt is computed anew."""

    def __init__(self, path: str, cache_gb: int) -> None:
        scheduler = genai.SchedulerConfig()
        scheduler.cache_size, scheduler.max_num_batched_tokens, scheduler.max_num_seqs = cache_gb, 512, 16
        scheduler.enable_prefix_caching = False
        self.pipeline = genai.ContinuousBatchingPipeline(path, scheduler, "CPU", {})

    def generate_s(self, prompts: list[list[int]], new: int) -> float:
        config = genai.GenerationConfig()
        config.max_new_tokens, config.ignore_eos, config.do_sample = new, True, False
        inputs = [ov.Tensor(np.array([prompt], np.int64)) for prompt in prompts]
        began = time.perf_counter()
        found = self.pipeline.generate(inputs, [config] * len(inputs))
        seconds = time.perf_counter() - began
        if any(len(result.m_generation_ids[0]) != new for result in found):
            raise SystemExit("the pipeline stopped early")
        return seconds

    def decode_tps(self, prompts: list[list[int]], new: int) -> float:
        return len(prompts) * new / (self.generate_s(prompts, new + 1) - self.generate_s(prompts, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("workload")
    parser.add_argument("--cache", type=int, default=1, help="GB of KV cache")
    args = parser.parse_args()
    with open(args.workload) as file:
        load = json.load(file)
    began = time.perf_counter()
    pipeline = Pipeline(args.model, args.cache)
    load_s = time.perf_counter() - began
    pipeline.generate_s(load["decode"][:1], 8)
    first = median(pipeline.generate_s([prompt], 1) for prompt in load["prefill"])
    decode = {n: pipeline.decode_tps(load["decode"][:n], load["new"]) for n in load["batches"]}
    print_figures(load_s, first, len(load["prefill"][0]), decode)


if __name__ == "__main__":
    main()
