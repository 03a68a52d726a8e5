"""The tokenizer beside safetensors weights: tokenizer.json, and the chat template of tokenizer_config.json."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer as Backend

from backends.engine.spec import ModelSpec
from backends.engine.text.pieces import pieces_of
from backends.engine.text.template import MOST_SOURCE, ChatTemplate
from backends.engine.tokenizer import Tokenizer
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.limits import JSON_BYTES

_CONSTANTS = ("bos_token", "eos_token", "pad_token", "unk_token")


def directory_tokenizer(path: Path, spec: ModelSpec) -> Tokenizer:
    """Raises WeightsError when tokenizer.json is missing, damaged or too large."""
    layout = _layout(path / "tokenizer.json")
    spaces_first = _unprefixed(layout)
    backend = _backend(layout, path / "tokenizer.json")
    layout = json.loads(backend.to_str())
    added = {token["id"]: (token["content"], bool(token["special"])) for token in layout["added_tokens"]}
    kinds = set(_kinds(layout["decoder"]))
    return Tokenizer(
        backend,
        pieces=pieces_of(
            backend.get_vocab(with_added_tokens=False), added, byte_level="ByteLevel" in kinds, size=spec.vocab_size
        ),
        control={text: index for index, (text, special) in added.items() if special},
        template=_template(path),
        eos_ids=spec.eos_ids,
        strips_first_space=bool(kinds & {"Strip", "Metaspace"}),
        begin=_begin(backend, path, spec),
        spaces_first=spaces_first,
    )


def _layout(path: Path) -> dict[str, Any]:
    if not path.is_file() or path.stat().st_size > JSON_BYTES:
        raise WeightsError(f"{path.parent.name}: tokenizer.json is missing or larger than {JSON_BYTES >> 20} MiB")
    try:
        found = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as fault:
        raise WeightsError(f"{path.name}: no readable tokenizer ({fault})") from fault
    if not isinstance(found, dict):
        raise WeightsError(f"{path.name}: no readable tokenizer (it is no object)")
    return found


def _backend(layout: Mapping[str, Any], path: Path) -> Backend:
    """Control words are not parsed: `encode_special_tokens` makes them text."""
    try:
        backend = Backend.from_str(json.dumps(layout))
    except Exception as fault:  # tokenizers raises plain Exception
        raise WeightsError(f"{path.name}: no readable tokenizer ({fault})") from fault
    backend.no_truncation()
    backend.no_padding()
    backend.encode_special_tokens = True
    return backend


def _unprefixed(layout: dict[str, Any]) -> bool:
    """Metaspace's `first` puts a space before the very start of a text; the parts between control words are no start.

    Whether there was one, which is taken out.
    """
    splitter = layout.get("pre_tokenizer")
    if isinstance(splitter, dict) and splitter.get("type") == "Metaspace" and splitter.get("prepend_scheme") == "first":
        splitter["prepend_scheme"] = "never"
        return True
    return False


def _begin(backend: Backend, path: Path, spec: ModelSpec) -> list[int]:
    """What the tokenizer puts before every text, unless its settings say otherwise."""
    config = _config(path / "tokenizer_config.json")
    adds, word = config.get("add_bos_token"), backend.token_to_id(_word(config.get("bos_token")))
    if adds is False:
        return []
    found = [token for token in backend.encode("").ids if token not in spec.eos_ids]
    return found or ([word] if adds and word is not None else [])


def _kinds(part: Mapping[str, Any] | None) -> list[str]:
    """The names of a decoder and of those inside it."""
    if part is None:
        return []
    return [part["type"], *(kind for inner in part.get("decoders", ()) for kind in _kinds(inner))]


def _template(path: Path) -> ChatTemplate | None:
    config = _config(path / "tokenizer_config.json")
    alone = path / "chat_template.jinja"
    source = _text(alone) if alone.is_file() else _default(config.get("chat_template"))
    if not isinstance(source, str):
        return None
    words = {name: _word(config.get(name)) for name in _CONSTANTS}
    return ChatTemplate(source, {name: word for name, word in words.items() if word})


def _text(path: Path) -> str:
    if path.stat().st_size > 4 * MOST_SOURCE:
        raise WeightsError(f"{path.name}: larger than {4 * MOST_SOURCE >> 10} KiB")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as fault:
        raise WeightsError(f"{path.name}: not UTF-8 ({fault})") from fault


def _default(found: object) -> object:
    """Some files list several templates by name; the one for chats is `default`."""
    if isinstance(found, list):
        named = [item for item in found if isinstance(item, Mapping)]
        return next((item.get("template") for item in named if item.get("name") == "default"), None)
    return found


def _word(found: object) -> str:
    """A special token is written as text, or as a mapping with its `content`."""
    content = found.get("content") if isinstance(found, Mapping) else found
    return content if isinstance(content, str) else ""


def _config(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    if path.stat().st_size > JSON_BYTES:
        raise WeightsError(f"{path.name}: larger than {JSON_BYTES >> 20} MiB")
    try:
        values = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as fault:
        raise WeightsError(f"{path.name}: no readable JSON ({fault})") from fault
    return values if isinstance(values, dict) else {}
