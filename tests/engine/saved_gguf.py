"""A tiny llama GGUF file, as llama.cpp's converter would write it."""

from pathlib import Path

import numpy as np
from gguf import GGMLQuantizationType, GGUFWriter, quants
from numpy.typing import NDArray
from saved_models import CHATML, CONTROL

from backends.engine.spec import ModelSpec, TensorSource
from backends.engine.text.pieces import byte_alphabet
from backends.engine.weights.shapes import shapes

GGUF_NAMES = {
    "embed": "token_embd.weight", "norm": "output_norm.weight", "attn_norm": "attn_norm.weight",
    "mlp_norm": "ffn_norm.weight", "q": "attn_q.weight", "k": "attn_k.weight", "v": "attn_v.weight",
    "o": "attn_output.weight", "gate": "ffn_gate.weight", "up": "ffn_up.weight", "down": "ffn_down.weight",
}  # fmt: skip


def interleaved(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """What llama.cpp's converter does to the rows of q and k."""
    return weight.reshape(heads, 2, weight.shape[0] // heads // 2, -1).swapaxes(1, 2).reshape(weight.shape)


def write_gguf(path: Path, spec: ModelSpec, source: TensorSource, **changes: int) -> Path:
    """A llama GGUF with one tensor quantised, and a byte-level vocabulary."""
    writer = GGUFWriter(path, "llama")
    for key, value in {
        "llama.block_count": spec.layers, "llama.context_length": spec.context, "llama.embedding_length": spec.hidden,
        "llama.feed_forward_length": spec.mlp, "llama.attention.head_count": spec.heads,
        "llama.attention.head_count_kv": spec.kv_heads, "tokenizer.ggml.eos_token_id": 258,
    }.items():  # fmt: skip
        writer.add_uint32(key, changes.get(key, value))
    writer.add_float32("llama.attention.layer_norm_rms_epsilon", spec.rms_eps)
    writer.add_float32("llama.rope.freq_base", spec.rope_theta)
    words = [*byte_alphabet(), *CONTROL, "ĠĠ"]
    words += [f"unused{index}" for index in range(spec.vocab_size - len(words))]
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(words)
    writer.add_token_types([3 if word in CONTROL else 1 for word in words])
    writer.add_token_merges(["Ġ Ġ"])
    writer.add_chat_template(CHATML)
    for name in shapes(spec):
        short = name.rpartition(".")[2]
        own = GGUF_NAMES[short] if "." not in name else f"blk.{name.split('.')[1]}.{GGUF_NAMES[short]}"
        values = source.tensor(name)
        values = interleaved(values, {"q": spec.heads, "k": spec.kv_heads}[short]) if short in ("q", "k") else values
        if short == "gate":
            kind = GGMLQuantizationType.Q8_0
            writer.add_tensor(own, quants.quantize(values, kind), raw_dtype=kind)
        else:
            writer.add_tensor(own, np.ascontiguousarray(values))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
