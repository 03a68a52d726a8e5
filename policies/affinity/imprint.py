"""A long text as a key: what was reckoned of it is remembered, and the text itself is not."""

from typing import Generic, TypeVar

T = TypeVar("T", str, bytes)


class Imprint(Generic[T]):
    """Equal for equal texts. Different ones are alike once in 2^64 by chance, and by nobody's will: the hash is keyed anew in
    every process. So a function whose results are kept by it `take`s the text, and what is kept holds none."""

    __slots__ = ("_hash", "_length", "_text")

    def __init__(self, text: T) -> None:
        self._hash, self._length = hash(text), len(text)
        self._text: T | None = text

    def take(self) -> T:
        """The text, once."""
        text, self._text = self._text, None
        assert text is not None
        return text

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Imprint) and (self._hash, self._length) == (other._hash, other._length)
