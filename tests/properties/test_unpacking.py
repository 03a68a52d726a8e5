"""Packed bodies, cut into pieces anywhere: what was packed comes out, a part of it is never taken for all, and no piece is more
than it may be."""

import gzip
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.transport.inflating import SLICE_BYTES, Inflater
from backends.transport.interface import TransportError

BODIES = st.binary(max_size=40) | st.integers(0, 3 * SLICE_BYTES).map(bytes)
BOUND = 1 << 20


def bare(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


def pieces_of(packed: bytes, sizes: list[int]) -> list[bytes]:
    pieces, at = [], 0
    for size in [*sizes, len(packed)]:
        pieces.append(packed[at : at + size])
        at += size
    return [piece for piece in pieces if piece]


SIZES = st.lists(st.integers(1, 30), max_size=20)


@given(st.lists(BODIES, min_size=1, max_size=4), SIZES, st.sampled_from([b"", bytes(9), b"junk"]))
def test_members_one_after_the_other_are_one_body_however_they_are_cut(
    bodies: list[bytes], sizes: list[int], behind: bytes
) -> None:
    packed = b"".join(map(gzip.compress, bodies)) + behind
    inflater = Inflater("gzip", BOUND)

    assert b"".join(inflater.unpack(piece) for piece in pieces_of(packed, sizes)) == b"".join(bodies)
    assert inflater.is_whole


@given(BODIES, SIZES, st.sampled_from([bare, zlib.compress, gzip.compress]))
def test_deflate_is_read_with_its_wrapper_without_it_and_in_that_of_gzip(body: bytes, sizes: list[int], pack) -> None:
    inflater = Inflater("deflate", BOUND)

    assert b"".join(inflater.unpack(piece) for piece in pieces_of(pack(body), sizes)) == body
    assert inflater.is_whole


@given(st.lists(BODIES, min_size=1, max_size=3), st.data(), st.sampled_from([bare, zlib.compress, gzip.compress]))
def test_a_part_of_a_body_is_whole_only_between_members(bodies: list[bytes], data: st.DataObject, pack) -> None:
    bodies = bodies if pack is gzip.compress else bodies[:1]
    packed = [pack(body) for body in bodies]
    ends = [len(b"".join(packed[: place + 1])) for place in range(len(packed))]
    cut = data.draw(st.integers(0, ends[-1]))
    inflater = Inflater("deflate", BOUND)

    inflater.unpack(b"".join(packed)[:cut])

    assert inflater.is_whole == (cut in ends)


@given(st.lists(st.integers(0, 5_000), min_size=1, max_size=9), st.integers(1, 10_000))
def test_a_piece_never_unpacks_to_more_than_it_may(lengths: list[int], bound: int) -> None:
    packed = b"".join(gzip.compress(bytes(length)) for length in lengths)
    inflater = Inflater("gzip", bound)

    if sum(lengths) <= bound:
        assert len(inflater.unpack(packed)) == sum(lengths)
    else:
        with pytest.raises(TransportError, match="unpacks to more"):
            inflater.unpack(packed)


def test_what_follows_a_body_is_not_kept() -> None:
    inflater = Inflater("gzip", BOUND)
    inflater.unpack(gzip.compress(b"hi"))

    assert [inflater.unpack(b"junk" * 1_000) for _ in range(10)] == [b""] * 10
    assert inflater._member is None
