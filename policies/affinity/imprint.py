"""What was reckoned of long texts is remembered by their imprint, and the texts themselves are not."""

from collections.abc import Callable, Hashable
from hashlib import sha256
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


def imprint(text: str) -> bytes:
    """The text's SHA-256 (some 36 us for 64 KB where the processor has it), so nobody can write a text that is taken for
    another; 32 bytes.

    >>> imprint("one") == imprint("o" + "ne"), imprint("one") == imprint("two")
    (True, False)
    """
    return sha256(text.encode("utf-8", "surrogatepass")).digest()


class Remembered(Generic[K, V]):
    """Results by the imprint of what they are of, those that were used last. `most` bounds the sum of what they weigh, 1 each
    where nothing else is said.

    Two generations: who is asked for moves into the younger one, and when that has half of `most` the older one is
    forgotten. Every step is one of a dictionary, so threads may share it: the worst that can happen is that something is
    forgotten early.

    >>> known = Remembered[str, int](4)
    >>> [known.put(word, len(word)) for word in ("a", "bb")] and known.get("a"), known.put("ccc", 3), known.get("bb")
    (1, None, 2)
    """

    __slots__ = ("_half", "_older", "_weigh", "_weight", "_younger")

    def __init__(self, most: int, weigh: Callable[[V], int] = lambda _: 1) -> None:
        self._half = most // 2
        self._weigh = weigh
        self._weight = 0
        self._younger: dict[K, V] = {}
        self._older: dict[K, V] = {}

    def __len__(self) -> int:
        return len(self._younger) + len(self._older.keys() - self._younger.keys())

    def get(self, key: K) -> V | None:
        found = self._younger.get(key)
        if found is None and (found := self._older.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: K, value: V) -> None:
        weight = self._weigh(value)
        if weight > self._half:
            return
        if self._weight + weight > self._half:
            self._older, self._younger, self._weight = self._younger, {}, 0
        self._younger[key] = value
        self._weight += weight
