"""A model's vocabulary as the grammar library reads it."""

from collections.abc import Iterable, Sequence
from typing import Protocol

from llguidance import LLTokenizer, TokenizerWrapper


class GrammarVocabulary(Protocol):
    """What this room needs of a tokenizer."""

    @property
    def eos_ids(self) -> frozenset[int]: ...

    @property
    def control_ids(self) -> frozenset[int]: ...

    def token_bytes(self, token: int) -> bytes: ...

    def encode(self, text: str) -> Sequence[int]: ...


class _Source:
    """Control tokens have no bytes, so that no grammar can reach one; end tokens are let in where it may end."""

    def __init__(self, vocabulary: GrammarVocabulary, size: int) -> None:
        self.tokens = [vocabulary.token_bytes(token) for token in range(size)]
        self.special_token_ids = sorted(_within(vocabulary.control_ids | vocabulary.eos_ids, size))
        self.bos_token_id = None
        self.eos_token_id = min(_within(vocabulary.eos_ids, size))
        self._encode = vocabulary.encode
        self._by_bytes = {piece: token for token, piece in enumerate(self.tokens) if piece}
        self._longest = max(map(len, self._by_bytes))

    def __call__(self, text: str | bytes) -> list[int]:
        """How the model itself would write what the grammar forces. A tokenizer that adds a space is not asked."""
        data = text.encode() if isinstance(text, str) else text
        ids = list(self._encode(data.decode()))
        if b"".join(self.tokens[token] for token in ids) == data:
            return ids
        return list(self._greedy(data))

    def _greedy(self, data: bytes) -> Iterable[int]:
        """The longest piece that fits, again and again; a byte that no piece holds ends it."""
        start = 0
        while start < len(data):
            ends = range(min(len(data), start + self._longest), start, -1)
            found = next((end for end in ends if data[start:end] in self._by_bytes), None)
            if found is None:
                return
            yield self._by_bytes[data[start:found]]
            start = found


def read_vocabulary(vocabulary: GrammarVocabulary, size: int) -> LLTokenizer:
    """A trie of the first `size` tokens: 0.3 s for 49 152, with the interpreter lock held."""
    ends = sorted(_within(vocabulary.eos_ids, size))
    wrapper = TokenizerWrapper(_Source(vocabulary, size))
    return LLTokenizer(wrapper, eos_token=ends, slices=LLTokenizer.json_slices())


def _within(ids: Iterable[int], size: int) -> list[int]:
    return [token for token in ids if token < size]
