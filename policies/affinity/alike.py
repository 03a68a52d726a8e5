"""Prompts that begin alike, told by few keys: those of their first 1, 2, 4, 8, ... blocks.

Two prompts that share `depth` blocks share the landmark of `depth`, which stands for more than half of them. So prompts that
wait somewhere are counted under a handful of keys each, however long they are.
"""

from collections.abc import Sequence


def landmarks(keys: Sequence[bytes]) -> tuple[bytes, ...]:
    """Keys of the first 1, 2, 4, ... blocks of a prompt.

    >>> landmarks([b"1", b"2", b"3", b"4", b"5"])
    (b'1', b'2', b'4')
    """
    marks, place, blocks = [], 1, len(keys)
    while place <= blocks:
        marks.append(keys[place - 1])
        place *= 2
    return tuple(marks)


def landmark(keys: Sequence[bytes], depth: int) -> bytes | None:
    """The deepest of them within the first `depth` blocks; None for no block.

    >>> landmark([b"1", b"2", b"3", b"4", b"5"], 3), landmark([b"1"], 0)
    (b'2', None)
    """
    return keys[(1 << depth.bit_length() - 1) - 1] if depth > 0 else None
