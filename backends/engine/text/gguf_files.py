"""The tokenizer inside a GGUF file as the files of a Hugging Face directory."""

import json
from collections.abc import Mapping

from tokenizers import AddedToken, decoders

from backends.engine.text.gguf_vocabulary import Vocabulary, read_vocabulary


def tokenizer_files(metadata: Mapping[str, object], origin: str) -> dict[str, bytes]:
    """Name → bytes: tokenizer.json, tokenizer_config.json, and chat_template.jinja where the file has a template.

    Raises WeightsError like `read_vocabulary`.
    """
    found = read_vocabulary(metadata, origin)
    files = {
        "tokenizer.json": _layout(found),
        "tokenizer_config.json": _config(found, metadata.get("tokenizer.ggml.add_bos_token")),
    }
    return files if found.template is None else files | {"chat_template.jinja": found.template.encode()}


def _layout(found: Vocabulary) -> bytes:
    """Other readers parse control tokens; ours makes them text, whatever the file says."""
    backend = found.backend()
    backend.decoder = decoders.ByteLevel()
    control = (text for text, is_control in found.added.values() if is_control)
    backend.add_special_tokens([AddedToken(text, normalized=False, special=True) for text in control])
    return str(backend.to_str(pretty=True)).encode()


def _config(found: Vocabulary, adds_bos: object) -> bytes:
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "add_bos_token": bool(adds_bos), **found.constants}
    return json.dumps(config, indent=2, ensure_ascii=False).encode()
