"""vLLM's events as every version writes them, and the chains that prompts run along; a history of events ends at the truth."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.vllm.chains import Chains
from backends.vllm.events import Cleared, NotUnderstood, Removed, Stored, digest, read_batch

SIZE = 4


def batch(*events: list[Any], more: tuple[Any, ...] = ()) -> bytes:
    return msgspec.msgpack.encode([1.5, list(events), *more])


def stored(*hashes: int, parent: int | None, tokens: list[int], medium: Any = "GPU", lora: Any = None) -> list[Any]:
    return ["BlockStored", list(hashes), parent, tokens, SIZE, lora, medium]


def test_events_are_read_whatever_kind_of_hash_and_however_many_fields_they_have():
    found = list(
        read_batch(
            batch(
                ["BlockStored", [1, 2], None, list(range(8)), SIZE],
                ["BlockStored", [b"\x01" * 32], b"\x02" * 32, list(range(4)), SIZE, None, "GPU", "later", {}],
                ["BlockRemoved", [1]],
                ["BlockRemoved", [2], "CPU"],
                ["AllBlocksCleared"],
                ["SomethingElse", 7],
                stored(9, parent=None, tokens=[1] * 4, medium="DISK"),
                stored(9, parent=None, tokens=[1] * 4, lora=3),
                more=(0, "later"),
            )
        )
    )

    assert found == [
        Stored((digest(1), digest(2)), b"", tuple(range(8)), SIZE),
        Stored((digest(b"\x01" * 32),), digest(b"\x02" * 32), tuple(range(4)), SIZE),
        Removed((digest(1),)),
        Cleared(),
    ]


@given(st.binary(max_size=200))
def test_what_is_no_batch_is_not_understood_and_nothing_else_happens(payload: bytes):
    try:
        tuple(read_batch(payload))
    except NotUnderstood:
        return


@pytest.mark.parametrize("event", [["BlockStored"], ["BlockStored", 1, 2, 3, 4], ["BlockRemoved", 5], [], 7, None])
def test_events_of_another_shape_are_not_understood(event: Any):
    with pytest.raises(NotUnderstood):
        tuple(read_batch(batch(event)))


def hashes_of(tokens: list[int], salt: int = 0) -> list[int]:
    """As a server names its blocks: each by all that is before it, and by whose it is."""
    return [hash((salt, *tokens[:end])) for end in range(SIZE, len(tokens) + 1, SIZE)]


def take(chains: Chains, *events: list[Any]) -> None:
    for change in read_batch(batch(*events)):
        chains.take(change)


prompts = st.lists(st.integers(0, 1), min_size=1, max_size=20)


@given(history=st.lists(st.tuples(st.booleans(), prompts), max_size=30), asked=prompts)
def test_a_walk_finds_the_resident_blocks_of_a_prompt_and_no_more(
    history: list[tuple[bool, list[int]]], asked: list[int]
):
    """Blocks are evicted from the end, as the server does."""
    chains, resident = Chains(), dict[int, None]()
    for is_stored, prompt in history:
        blocks = hashes_of(prompt)
        if is_stored:
            fresh = [block for block in blocks if block not in resident]
            first = len(blocks) - len(fresh)
            if fresh:
                tokens = prompt[first * SIZE : len(blocks) * SIZE]
                take(chains, stored(*fresh, parent=blocks[first - 1] if first else None, tokens=tokens))
            resident.update(dict.fromkeys(fresh))
        elif blocks and blocks[-1] in resident and not has_children(blocks[-1], history, resident):
            take(chains, ["BlockRemoved", [blocks[-1]], "GPU"])
            del resident[blocks[-1]]

    expected = []
    for block in hashes_of(asked):
        if block not in resident:
            break
        expected.append(digest(block))
    assert chains.walk(asked) == expected
    assert len(chains) == len(resident)


def has_children(block: int, history: list[tuple[bool, list[int]]], resident: dict[int, None]) -> bool:
    chains = [hashes_of(prompt) for _, prompt in history]
    return any(
        block in chain and any(later in resident for later in chain[chain.index(block) + 1 :]) for chain in chains
    )


def test_equal_tokens_in_two_tenants_caches_give_the_longer_chain():
    chains, prompt = Chains(), list(range(12))
    one, other = hashes_of(prompt[:8], salt=1), hashes_of(prompt, salt=2)
    take(chains, stored(*one, parent=None, tokens=prompt[:8]), stored(*other, parent=None, tokens=prompt))

    assert chains.walk(prompt) == [digest(block) for block in other]
    take(chains, ["BlockRemoved", [other[2]], "GPU"])
    assert len(chains.walk(prompt)) == 2


def test_more_blocks_than_the_bound_are_not_kept():
    chains, prompt = Chains(most=2), list(range(20))

    take(chains, stored(*hashes_of(prompt), parent=None, tokens=prompt))

    assert len(chains) == 2
    assert len(chains.walk(prompt)) == 2
