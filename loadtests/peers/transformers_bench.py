"""transformers `generate`: one round, printed as one line of JSON.

    PYTHON loadtests/peers/transformers_bench.py DIR WORKLOAD.json --dtype bfloat16

WORKLOAD is what `loadtests.engine.workload` writes. Decoding is the time of 1 + n tokens less the time of 1.
"""

import argparse
import json
import time
from statistics import median

import torch
from figures import print_figures
from transformers import AutoModelForCausalLM


def generate_s(model: torch.nn.Module, prompts: list[list[int]], new: int) -> float:
    tokens = torch.tensor(prompts)
    began = time.perf_counter()
    with torch.inference_mode():
        found = model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=False,
            min_new_tokens=new,
            max_new_tokens=new,
            pad_token_id=0,
        )
    seconds = time.perf_counter() - began
    if found.shape[1] != tokens.shape[1] + new:
        raise SystemExit("generate stopped early")
    return seconds


def decode_tps(model: torch.nn.Module, prompts: list[list[int]], new: int) -> float:
    return len(prompts) * new / (generate_s(model, prompts, new + 1) - generate_s(model, prompts, 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model")
    parser.add_argument("workload")
    parser.add_argument("--dtype", choices=("bfloat16", "float32"), required=True)
    parser.add_argument("--batch", type=int, nargs="+", default=[1, 16])
    args = parser.parse_args()
    with open(args.workload) as file:
        load = json.load(file)
    began = time.perf_counter()
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=getattr(torch, args.dtype)).eval()
    load_s = time.perf_counter() - began
    generate_s(model, load["decode"][:1], 8)
    first = median(generate_s(model, [prompt], 1) for prompt in load["prefill"][:3])
    decode = {n: decode_tps(model, load["decode"][:n], load["new"]) for n in args.batch}
    print_figures(load_s, first, len(load["prefill"][0]), decode)


if __name__ == "__main__":
    main()
