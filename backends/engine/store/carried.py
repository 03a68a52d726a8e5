"""What goes along with quantised tensors: config, tokenizer, chat template, licence."""

import json
from collections.abc import Mapping
from typing import Final

from backends.engine.spec import ModelSpec
from backends.engine.text.gguf_files import tokenizer_files
from backends.engine.weights.codes import GROUP
from backends.engine.weights.config import METHOD, VERSION, read_json, written
from backends.engine.weights.directory import Directory
from backends.engine.weights.gguf_file import GgufFile
from policies.catalogue import Precision

_COPIED: Final = (
    "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json", "chat_template.jinja",
    "generation_config.json", "LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE",
)  # fmt: skip


def carried_files(source: GgufFile | Directory, spec: ModelSpec, precision: Precision) -> dict[str, bytes]:
    """Name → bytes, from the source's own directory, or made from what a GGUF file says."""
    if isinstance(source, GgufFile):
        config = written(spec)
        files = tokenizer_files(source.header.metadata, source.path.name)
    else:
        config = dict(read_json(source.path / "config.json").values)
        files = {name: (source.path / name).read_bytes() for name in _COPIED if (source.path / name).is_file()}
    marked = config | {"tie_word_embeddings": spec.tied_head} | _marker(config, precision)
    return files | {"config.json": json.dumps(marked, indent=2).encode()}


def _marker(config: Mapping[str, object], precision: Precision) -> dict[str, object]:
    """bfloat16 is nothing special: everybody reads it."""
    dtype = {name: "bfloat16" for name in ("dtype", "torch_dtype") if name in config} or {"dtype": "bfloat16"}
    if precision == "bfloat16":
        return dict(dtype)
    marker = {"quant_method": METHOD, "version": VERSION, "precision": precision, "group": GROUP}
    return {**dtype, "quantization_config": marker}
