"""A GGUF file as a Hugging Face directory, for peers that read nothing else.

    PYTHON loadtests/peers/export_directory.py WEIGHTS.gguf DIR [--dtype float32]

Needs transformers, gguf, sentencepiece and protobuf. transformers loads such a file dequantised but refuses to save what it
loaded, so the tensors are copied into a model without a quantisation config.
"""

import argparse
import json
from pathlib import Path

import torch
from transformers import AutoConfig, AutoTokenizer, LlamaForCausalLM
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint


def model_of(weights: Path) -> LlamaForCausalLM:
    """The dequantised float32 model. Raises SystemExit when tensors of the file have no place in it."""
    config = AutoConfig.from_pretrained(weights.parent, gguf_file=weights.name)
    model = LlamaForCausalLM(config).eval()
    tensors = load_gguf_checkpoint(weights, return_tensors=True, model_to_load=model)["tensors"]
    missing, unexpected = model.load_state_dict(tensors, strict=False)
    if unexpected or set(missing) - {"lm_head.weight"}:
        raise SystemExit(f"{weights.name} is no Llama: {unexpected or missing}")
    model.tie_weights()
    return model


def export(weights: Path, target: Path, dtype: torch.dtype) -> None:
    """Write the directory; it is complete when its config.json stands there."""
    target.mkdir(parents=True, exist_ok=True)
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    tokenizer.save_pretrained(target)
    _name_the_class_that_all_versions_know(target / "tokenizer_config.json")
    model = model_of(weights).to(dtype)
    model.config.architectures = ["LlamaForCausalLM"]
    model.save_pretrained(target)


def _name_the_class_that_all_versions_know(path: Path) -> None:
    config = json.loads(path.read_text())
    path.write_text(json.dumps({**config, "tokenizer_class": "PreTrainedTokenizerFast"}, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("weights", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--dtype", default="float32", choices=("float32", "bfloat16"))
    args = parser.parse_args()
    export(args.weights, args.target, getattr(torch, args.dtype))
    print(f"{args.target}: {sum(file.stat().st_size for file in args.target.iterdir()) / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
