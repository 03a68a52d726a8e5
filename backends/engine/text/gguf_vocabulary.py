"""The tokenizer inside a GGUF file: byte-level BPE from its vocabulary and merges."""

from collections.abc import Callable, Mapping
from typing import Final, cast

from tokenizers import AddedToken, Regex, models, pre_tokenizers
from tokenizers import Tokenizer as Backend

from backends.engine.spec import ModelSpec
from backends.engine.text.pieces import pieces_of
from backends.engine.text.template import ChatTemplate
from backends.engine.tokenizer import Tokenizer
from backends.engine.weights.faults import WeightsError

_CONTROL, _USER_DEFINED = 3, 4
_QWEN2 = (
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
)
_LLAMA3 = _QWEN2.replace(r"\p{N}|", r"\p{N}{1,3}|")


def _words(pattern: str) -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(pattern), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
    ])  # fmt: skip


def _gpt2() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.ByteLevel(add_prefix_space=False)


def _smollm() -> pre_tokenizers.PreTokenizer:
    return pre_tokenizers.Sequence([pre_tokenizers.Digits(individual_digits=True), _gpt2()])


_SPLITTERS: Final[dict[str, Callable[[], pre_tokenizers.PreTokenizer]]] = {
    "gpt-2": _gpt2,
    "smollm": _smollm,
    "qwen2": lambda: _words(_QWEN2),
    "llama-bpe": lambda: _words(_LLAMA3),
}


def gguf_tokenizer(metadata: Mapping[str, object], spec: ModelSpec, origin: str) -> Tokenizer:
    """Raises WeightsError when the vocabulary's kind or its word splitting is not supported."""
    kind, splitter = metadata.get("tokenizer.ggml.model"), str(metadata.get("tokenizer.ggml.pre"))
    if kind != "gpt2" or splitter not in _SPLITTERS:
        raise WeightsError(f"{origin}: its tokenizer ({kind}, {splitter}) is not supported; gpt2 with "
                           f"{', '.join(_SPLITTERS)} is. A Hugging Face directory brings its own")  # fmt: skip
    tokens = _strings(metadata, "tokenizer.ggml.tokens", origin)
    vocabulary = {token: index for index, token in enumerate(tokens)}
    added = _added(metadata, tokens)
    control = {text: index for index, (text, is_control) in added.items() if is_control}
    return Tokenizer(
        _backend(vocabulary, _merges(metadata, vocabulary, origin), splitter, added),
        pieces=pieces_of(vocabulary, added, byte_level=True, size=spec.vocab_size),
        control=control,
        template=_template(metadata, tokens),
        eos_ids=spec.eos_ids,
    )


def _backend(
    vocabulary: dict[str, int], merges: list[tuple[str, str]], splitter: str, added: Mapping[int, tuple[str, bool]]
) -> Backend:
    backend = Backend(models.BPE(vocabulary, merges, ignore_merges=splitter == "llama-bpe"))
    backend.pre_tokenizer = _SPLITTERS[splitter]()
    backend.add_tokens([AddedToken(text, normalized=False) for text, is_control in added.values() if not is_control])
    return backend


def _added(metadata: Mapping[str, object], tokens: list[str]) -> dict[int, tuple[str, bool]]:
    kinds = metadata.get("tokenizer.ggml.token_type")
    listed = kinds if isinstance(kinds, list) else []
    return {
        index: (token, kind == _CONTROL)
        for index, (token, kind) in enumerate(zip(tokens, listed, strict=False))
        if kind in (_CONTROL, _USER_DEFINED) and token
    }


def _merges(metadata: Mapping[str, object], vocabulary: Mapping[str, int], origin: str) -> list[tuple[str, str]]:
    pairs = []
    for line in _strings(metadata, "tokenizer.ggml.merges", origin):
        left, _, right = line.partition(" ")
        if left + right not in vocabulary:
            raise WeightsError(f"{origin}: the merge {line[:80]!r} makes a token that the vocabulary lacks")
        pairs.append((left, right))
    return pairs


def _strings(metadata: Mapping[str, object], key: str, origin: str) -> list[str]:
    found = metadata.get(key)
    if not isinstance(found, list) or not all(isinstance(item, str) for item in found):
        raise WeightsError(f"{origin}: {key} is no list of strings")
    return cast(list[str], found)


def _template(metadata: Mapping[str, object], tokens: list[str]) -> ChatTemplate | None:
    source = metadata.get("tokenizer.chat_template")
    if not isinstance(source, str):
        return None
    constants = {}
    for name, key in (("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding"), ("unk_token", "unknown")):
        index = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if isinstance(index, int) and 0 <= index < len(tokens):
            constants[name] = tokens[index]
    return ChatTemplate(source, constants)
