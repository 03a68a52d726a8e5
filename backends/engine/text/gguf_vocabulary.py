"""The tokenizer inside a GGUF file: byte-level BPE from its vocabulary and merges."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """What a GGUF file says of its tokenizer. `added`: text by id, and whether it is a control token. `constants`: the words
    of bos_token, eos_token, pad_token and unk_token, where there are such."""

    tokens: list[str]
    added: dict[int, tuple[str, bool]]
    merges: list[tuple[str, str]]
    splitter: str
    template: str | None
    constants: dict[str, str]

    def ids(self) -> dict[str, int]:
        return {token: index for index, token in enumerate(self.tokens)}

    def backend(self) -> Backend:
        """Without control tokens, so that plain text can never turn into one."""
        model = models.BPE(self.ids(), self.merges, ignore_merges=self.splitter == "llama-bpe")
        backend = Backend(model)
        backend.pre_tokenizer = _SPLITTERS[self.splitter]()
        plain = (text for text, is_control in self.added.values() if not is_control)
        backend.add_tokens([AddedToken(text, normalized=False) for text in plain])
        return backend


def read_vocabulary(metadata: Mapping[str, object], origin: str) -> Vocabulary:
    """Raises WeightsError when the vocabulary's kind or its word splitting is not supported."""
    kind, splitter = metadata.get("tokenizer.ggml.model"), str(metadata.get("tokenizer.ggml.pre"))
    if kind != "gpt2" or splitter not in _SPLITTERS:
        raise WeightsError(f"{origin}: its tokenizer ({kind}, {splitter}) is not supported; gpt2 with "
                           f"{', '.join(_SPLITTERS)} is. A Hugging Face directory brings its own")  # fmt: skip
    tokens = _strings(metadata, "tokenizer.ggml.tokens", origin)
    template = metadata.get("tokenizer.chat_template")
    return Vocabulary(
        tokens,
        _added(metadata, tokens),
        _merges(metadata, frozenset(tokens), origin),
        splitter,
        template if isinstance(template, str) else None,
        _constants(metadata, tokens),
    )


def gguf_tokenizer(metadata: Mapping[str, object], spec: ModelSpec, origin: str) -> Tokenizer:
    """Raises WeightsError like `read_vocabulary`."""
    found = read_vocabulary(metadata, origin)
    return Tokenizer(
        found.backend(),
        pieces=pieces_of(found.ids(), found.added, byte_level=True, size=spec.vocab_size),
        control={text: index for index, (text, is_control) in found.added.items() if is_control},
        template=None if found.template is None else ChatTemplate(found.template, found.constants),
        eos_ids=spec.eos_ids,
        begin=_begin(metadata, spec),
    )


def _begin(metadata: Mapping[str, object], spec: ModelSpec) -> list[int]:
    return [spec.bos_id] if metadata.get("tokenizer.ggml.add_bos_token") is True and spec.bos_id is not None else []


def _added(metadata: Mapping[str, object], tokens: list[str]) -> dict[int, tuple[str, bool]]:
    kinds = metadata.get("tokenizer.ggml.token_type")
    listed = kinds if isinstance(kinds, list) else []
    return {
        index: (token, kind == _CONTROL)
        for index, (token, kind) in enumerate(zip(tokens, listed, strict=False))
        if kind in (_CONTROL, _USER_DEFINED) and token
    }


def _merges(metadata: Mapping[str, object], vocabulary: Collection[str], origin: str) -> list[tuple[str, str]]:
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


def _constants(metadata: Mapping[str, object], tokens: list[str]) -> dict[str, str]:
    constants = {}
    for name, key in (("bos_token", "bos"), ("eos_token", "eos"), ("pad_token", "padding"), ("unk_token", "unknown")):
        index = metadata.get(f"tokenizer.ggml.{key}_token_id")
        if isinstance(index, int) and 0 <= index < len(tokens):
            constants[name] = tokens[index]
    return constants
