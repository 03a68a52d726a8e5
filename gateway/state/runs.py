"""Prompts' blocks as runs: blocks that were always written down together have one record, however many they are."""

from collections import OrderedDict
from collections.abc import Sequence

import msgspec


class Run(msgspec.Struct, gc=False):
    """Blocks of a prompt one after another, by their keys, and when who holds them ceases to: the same for each of them.

    It refers to nothing that could refer to it, so the collector of cycles need not look at it.
    """

    keys: tuple[bytes, ...]
    ends: dict[int, float]


class Runs:
    """A tree of prefixes (a radix tree: Morrison, PATRICIA, 1968), and the order in which runs were written down last.

    A key stands for its block and all before it, so two prompts that share a key share the run up to it: comparing one key
    compares all. Of two runs the deeper one is always the older one, so that of one prompt the tail goes first. A run
    may go on behind any block of another.
    """

    __slots__ = ("_by_first", "_by_last", "blocks")

    def __init__(self) -> None:
        self.blocks = 0
        self._by_first: dict[bytes, Run] = {}
        self._by_last: OrderedDict[bytes, Run] = OrderedDict()

    def along(self, blocks: Sequence[bytes]) -> tuple[list[tuple[Run, int]], int]:
        """The runs that a prompt goes through, from its first block on, and how far through each; and how many blocks that
        are. A look-up for each run."""
        found: list[tuple[Run, int]] = []
        by_first, at, end = self._by_first, 0, len(blocks)
        while at < end:
            run = by_first.get(blocks[at])
            if run is None:
                break
            keys = run.keys
            size = len(keys)
            if at + size > end or blocks[at + size - 1] != keys[-1]:
                size = common(keys, blocks, at)
            found.append((run, size))
            at += size
        return found, at

    def begin(self, keys: tuple[bytes, ...], ends: dict[int, float]) -> Run:
        """A run that is not known yet, as the newest."""
        run = self._by_first[keys[0]] = self._by_last[keys[-1]] = Run(keys, ends)
        self.blocks += len(keys)
        return run

    def cut(self, run: Run, size: int) -> Run:
        """Its first `size` blocks as a run of their own, the newest; the rest keeps its place."""
        head = Run(run.keys[:size], dict(run.ends))
        run.keys = run.keys[size:]
        self._by_first[run.keys[0]] = run
        self._by_first[head.keys[0]] = self._by_last[head.keys[-1]] = head
        return head

    def touch(self, run: Run) -> None:
        """It is the newest from here on."""
        self._by_last.move_to_end(run.keys[-1])

    def join(self, run: Run, deeper: Run) -> None:
        """The two newest, one behind the other, as one."""
        del self._by_first[deeper.keys[0]], self._by_last[run.keys[-1]]
        run.keys += deeper.keys
        self._by_last[run.keys[-1]] = run
        self._by_last.move_to_end(run.keys[-1])

    def shrink(self, most: int) -> None:
        """To so many blocks; the last of the oldest run go first."""
        while self.blocks > most:
            _, run = self._by_last.popitem(last=False)
            size = len(run.keys)
            kept = max(0, size - (self.blocks - most))
            self.blocks -= size - kept
            if not kept:
                del self._by_first[run.keys[0]]
                continue
            run.keys = run.keys[:kept]
            self._by_last[run.keys[-1]] = run
            self._by_last.move_to_end(run.keys[-1], last=False)

    def clear(self) -> None:
        self.blocks = 0
        self._by_first.clear()
        self._by_last.clear()


def common(keys: Sequence[bytes], blocks: Sequence[bytes], at: int) -> int:
    """How many of `keys`, of which the first is there, stand in `blocks` from `at` on.

    >>> common([b"1", b"2", b"3"], [b"0", b"1", b"2", b"x"], 1)
    2
    """
    least, most = 1, min(len(keys), len(blocks) - at)
    while least < most:
        middle = (least + most + 1) // 2
        if keys[middle - 1] == blocks[at + middle - 1]:
            least = middle
        else:
            most = middle - 1
    return least
