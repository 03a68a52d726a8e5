"""Where a prompt lies in a worker's cache, told with its answer, so that a gateway without the model's tokenizer can tell
where later prompts with the same beginning lie.

The gateway cuts a prompt into chunks of its canonical text, the worker into blocks of tokens. Marks are digests of some
blocks; a chunk belongs to the last mark that lies wholly before its end, found by proportion.
"""

import struct
from base64 import urlsafe_b64decode, urlsafe_b64encode
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Container, Sequence

import msgspec

from backends.upstream import Prepared
from policies.affinity.blocks import DIGEST_BYTES

SALT_HEADER = "x-turnout-salt"
"""On a request of a gateway: what keeps the prefixes of its tenants apart at the worker."""

PREFIX_HEADER = "x-turnout-prefix"
"""On the answer to such a request: TOKENS.MARKS, the marks as base64 of 20 bytes each."""

DENSE_MARKS, DENSE_BLOCKS = 32, 4
"""The beginning of a prompt, which others share, is marked every 4 blocks,"""

SPARSE_MARKS = 32
"""the rest of it evenly. 64 marks are 1.7 kB of a header."""

MAX_TOKENS = 1 << 30

_MARK = struct.Struct(f"<I{DIGEST_BYTES}s")


class Marks(msgspec.Struct, frozen=True):
    """Of a prompt of `tokens`: (depth in tokens, digest of the prefix of this depth), in rising depth."""

    tokens: int
    at: tuple[tuple[int, bytes], ...]


def marks_of(prepared: Prepared) -> Marks:
    """Of a prompt that an engine measured.

    >>> marks_of(Prepared(tokens=40, exact=True, blocks=(b"a" * 16, b"b" * 16), block_tokens=16)).at[-1]
    (32, b'bbbbbbbbbbbbbbbb')
    """
    chosen = marked(len(prepared.blocks))
    return Marks(prepared.tokens, tuple((n * prepared.block_tokens, prepared.blocks[n - 1]) for n in chosen))


def marked(blocks: int) -> list[int]:
    """Numbers of the blocks that are marked, from 1 on.

    >>> marked(3), marked(200)[:3], marked(200)[-3:], len(marked(100_000))
    ([1, 2, 3], [4, 8, 12], [194, 197, 200], 64)
    """
    if blocks <= DENSE_MARKS + SPARSE_MARKS:
        return list(range(1, blocks + 1))
    dense = DENSE_MARKS * DENSE_BLOCKS
    every = max(1, -(-(blocks - dense) // SPARSE_MARKS))
    return [*range(DENSE_BLOCKS, min(dense, blocks) + 1, DENSE_BLOCKS), *range(dense + every, blocks + 1, every)]


def write(marks: Marks) -> str:
    """
    >>> read(write(Marks(40, ((16, b"a" * 16),)))) == Marks(40, ((16, b"a" * 16),))
    True
    """
    return f"{marks.tokens}.{urlsafe_b64encode(b''.join(_MARK.pack(*mark) for mark in marks.at)).decode()}"


def read(header: str) -> Marks | None:
    """None for what no worker writes.

    >>> [read(header) for header in ("", "x.", "40.AAAA", "99999999999.")]
    [None, None, None, None]
    """
    tokens, _, packed = header.partition(".")
    try:
        marks = Marks(int(tokens), tuple(_MARK.iter_unpack(urlsafe_b64decode(packed))))
    except (ValueError, struct.error):
        return None
    depths = [depth for depth, _ in marks.at]
    is_sound = 0 <= marks.tokens <= MAX_TOKENS and all(a < b for a, b in zip([0, *depths], depths, strict=False))
    return marks if is_sound and len(depths) <= DENSE_MARKS + SPARSE_MARKS else None


class Record(msgspec.Struct, frozen=True):
    """A prefix of some prompt: it has at least so many tokens, and is resident when this digest is."""

    tokens: int
    digest: bytes


class Prefixes:
    """For keys of canonical chunks, the worker's word for the same prefix. An LRU of `most` keys."""

    def __init__(self, most: int = 65_536) -> None:
        self._most = most
        self._records: OrderedDict[bytes, Record] = OrderedDict()

    def __len__(self) -> int:
        return len(self._records)

    def learn(self, keys: Sequence[bytes], marks: Marks) -> None:
        """`keys` are those of the prompt that was marked. Behind the last key lies half a chunk, on average."""
        if not marks.at:
            return
        depths = [depth for depth, _ in marks.at]
        for number, key in enumerate(keys, 1):
            tokens = int(marks.tokens * number / (len(keys) + 0.5))
            depth, digest = marks.at[max(0, bisect_left(depths, tokens + 1) - 1)]
            self._keep(key, Record(min(depth, tokens), digest))
        self._shrink()

    def knows(self, keys: Sequence[bytes]) -> bool:
        """Whether anything can be said of prompts that begin so."""
        return bool(keys) and keys[0] in self._records

    def known(self, keys: Sequence[bytes]) -> int:
        """Leading keys of which something can be said. Keys of one prompt are learnt together, so this can be bisected."""
        return bisect_left(keys, True, key=lambda key: key not in self._records)

    def packed(self, keys: Sequence[bytes]) -> bytes:
        """The records of all keys in the form of marks, for other gateways; nothing when one is missing."""
        found = [self._records.get(key) for key in keys]
        whole = [record for record in found if record is not None]
        return (
            b"".join(_MARK.pack(*msgspec.structs.astuple(record)) for record in whole)
            if len(whole) == len(found)
            else b""
        )

    def take(self, keys: Sequence[bytes], packed: bytes) -> None:
        """Records of the leading `keys` as another gateway packed them; what is no record is passed over."""
        if len(packed) % _MARK.size:
            return
        for key, (tokens, digest) in zip(keys, _MARK.iter_unpack(packed), strict=False):
            if tokens <= MAX_TOKENS:
                self._keep(key, Record(tokens, digest))
        self._shrink()

    def resident_tokens(self, keys: Sequence[bytes], resident: Container[bytes]) -> int:
        """Tokens of the longest prefix that is resident. A prefix is evicted from its end, so the depth can be bisected."""

        def is_missing(key: bytes) -> bool:
            record = self._records.get(key)
            return record is None or record.digest not in resident

        depth = bisect_left(keys, True, key=is_missing)
        return self._records[keys[depth - 1]].tokens if depth else 0

    def _keep(self, key: bytes, record: Record) -> None:
        self._records[key] = record
        self._records.move_to_end(key)

    def _shrink(self) -> None:
        while len(self._records) > self._most:
            self._records.popitem(last=False)
