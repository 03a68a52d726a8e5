"""vLLM's KV events as they come, and as values: blocks of the device that were stored and removed, or all of them gone.

A batch is [instant, [event, ...], ...] in MessagePack; an event is an array that begins with its name. Later versions append
fields, so what stands behind those that are known is passed over. A hash is an integer or bytes, by version.
"""

from collections.abc import Iterator
from hashlib import blake2b
from typing import Any

import msgspec

MAX_BATCH_BYTES = 64 * 1024 * 1024

ON_DEVICE = ("GPU", None)

Hash = bytes


class Stored(msgspec.Struct, frozen=True):
    """Consecutive blocks behind `parent` (b"": the beginning of a prompt), `size` tokens each."""

    hashes: tuple[Hash, ...]
    parent: Hash
    tokens: tuple[int, ...]
    size: int


class Removed(msgspec.Struct, frozen=True):
    hashes: tuple[Hash, ...]


class Cleared(msgspec.Struct, frozen=True):
    """Nothing is left."""


Change = Stored | Removed | Cleared


class NotUnderstood(Exception):
    """What came is no batch of events."""


def read_batch(payload: bytes) -> Iterator[Change]:
    """Changes in order. Adapters' blocks, and those of other memories than the device's, are passed over. Raises
    NotUnderstood."""
    if len(payload) > MAX_BATCH_BYTES:
        raise NotUnderstood(f"a batch of {len(payload)} bytes")
    try:
        batch = msgspec.msgpack.decode(payload)
        for event in batch[1]:
            yield from _change(event[0], event[1:])
    except (msgspec.DecodeError, TypeError, ValueError, LookupError, OverflowError, RecursionError) as error:
        raise NotUnderstood(f"{type(error).__name__}: {error}") from error


def _change(name: str, fields: list[Any]) -> Iterator[Change]:
    if name == "AllBlocksCleared":
        yield Cleared()
    elif name == "BlockRemoved":
        hashes, medium = fields[0], _at(fields, 1)
        if medium in ON_DEVICE:
            yield Removed(tuple(digest(one) for one in hashes))
    elif name == "BlockStored":
        hashes, parent, tokens, size = fields[:4]
        if _at(fields, 4) is None and _at(fields, 5) in ON_DEVICE:
            ids = tuple(int(token) for token in tokens)
            before = b"" if parent is None else digest(parent)
            yield Stored(tuple(digest(one) for one in hashes), before, ids, int(size))


def _at(fields: list[Any], place: int) -> Any:
    return fields[place] if place < len(fields) else None


def digest(told: int | bytes) -> Hash:
    """16 bytes for a hash of any kind."""
    written = told if isinstance(told, bytes) else b"%d" % told
    return blake2b(written, digest_size=16, person=b"turnout-vllm").digest()
