"""Keys of prompt blocks: a chain of keyed digests, so equal keys mean equal prefixes, of one model and one tenant.

key_0 = seed, key_i = BLAKE2b(block_i, keyed with key_(i-1)). A key names the whole prefix up to its block: the longest
match of two prompts is the number of leading keys they share.
"""

import struct
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import blake2b

DIGEST_BYTES = 16
"""2^64 keys are needed before a collision is likely; an index holds some 10^8."""

PERSON = b"turnout-block"

REMEMBERED = 4_096
"""First keys, by revision and salt: every request of a tenant begins with the same few."""


@lru_cache(maxsize=REMEMBERED)
def seed(revision: str, salt: bytes) -> bytes:
    """First key of a chain. `revision` names weights and chat template, `salt` comes from the authenticated tenant.

    Fields carry their length, so no two pairs of (revision, salt) are written alike.

    >>> seed("a", b"bc") == seed("ab", b"c")
    False
    """
    name = revision.encode()
    fields = struct.pack("<I", len(name)) + name + struct.pack("<I", len(salt)) + salt
    return blake2b(fields, digest_size=DIGEST_BYTES, person=b"turnout-seed").digest()


def chain(seed: bytes, blocks: Iterable[bytes]) -> tuple[bytes, ...]:
    """Keys of every prefix, shortest first: each made of the block and the key of the prefix before it. `seed` may be the last
    key of a chain, which is then continued.

    >>> whole = chain(seed("m", b""), [b"one", b"two"])
    >>> whole[1:] == chain(whole[0], [b"two"])
    True
    """
    keys: list[bytes] = []
    key = seed
    for block in blocks:
        key = blake2b(block, digest_size=DIGEST_BYTES, key=key, person=PERSON).digest()
        keys.append(key)
    return tuple(keys)


def byte_blocks(seed: bytes, data: bytes, size: int) -> tuple[bytes, ...]:
    """Keys of the full blocks of `size` bytes; a tail shorter than `size` has no key.

    >>> byte_blocks(seed("m", b""), b"onetwo3", 3) == chain(seed("m", b""), [b"one", b"two"])
    True
    """
    keys: list[bytes] = []
    key = seed
    for end in range(size, len(data) + 1, size):  # as `chain` does, with neither a list of blocks nor a generator
        key = blake2b(data[end - size : end], digest_size=DIGEST_BYTES, key=key, person=PERSON).digest()
        keys.append(key)
    return tuple(keys)


def token_blocks(seed: bytes, token_ids: Sequence[int], size: int) -> tuple[bytes, ...]:
    """Keys of the full blocks of `size` token ids; a tail shorter than `size` has no key.

    >>> len(token_blocks(seed("m", b""), range(35), 16))
    2
    """
    pack = struct.Struct(f"<{size}I").pack
    full = len(token_ids) - len(token_ids) % size
    return chain(seed, (pack(*token_ids[start : start + size]) for start in range(0, full, size)))
