"""Laws of block keys: a shared key is a shared prefix, in one model and one tenant."""

from hypothesis import given, settings
from hypothesis import strategies as st

from policies.affinity.blocks import chain, seed, token_blocks

IDS = st.lists(st.integers(0, 3), max_size=40)
START = seed("revision", b"tenant")


def shared(left: list[int], right: list[int]) -> int:
    same = 0
    for a, b in zip(left, right, strict=False):
        if a != b:
            break
        same += 1
    return same


@settings(deadline=None)
@given(IDS, IDS, st.integers(1, 5))
def test_leading_equal_keys_count_the_blocks_of_the_shared_prefix(left: list[int], right: list[int], size: int) -> None:
    keys = zip(token_blocks(START, left, size), token_blocks(START, right, size), strict=False)
    equal = [a == b for a, b in keys]
    whole = min(shared(left, right), len(left), len(right)) // size
    assert equal == [True] * whole + [False] * (len(equal) - whole)


@settings(deadline=None)
@given(IDS, st.integers(1, 5), st.integers(0, 40))
def test_a_chain_continues_from_its_last_key(ids: list[int], size: int, cut: int) -> None:
    at = min(cut, len(ids)) // size * size
    head = token_blocks(START, ids[:at], size)
    assert head + token_blocks(head[-1] if head else START, ids[at:], size) == token_blocks(START, ids, size)


@settings(deadline=None)
@given(st.text(max_size=8), st.binary(max_size=8), st.text(max_size=8), st.binary(max_size=8))
def test_seeds_are_equal_only_for_equal_model_and_salt(name: str, salt: bytes, other: str, other_salt: bytes) -> None:
    assert (seed(name, salt) == seed(other, other_salt)) == ((name, salt) == (other, other_salt))


@settings(deadline=None)
@given(st.lists(st.binary(max_size=4), max_size=6))
def test_each_block_of_bytes_has_one_key_of_sixteen_bytes(blocks: list[bytes]) -> None:
    keys = chain(START, blocks)
    assert [len(key) for key in keys] == [16] * len(blocks)
    assert len({START, *keys}) == len(blocks) + 1
