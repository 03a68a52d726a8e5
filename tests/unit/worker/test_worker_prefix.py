"""Marks of a prompt: read as they were written, and never a claim that the worker's cache does not keep."""

from hypothesis import assume, given
from hypothesis import strategies as st

from backends.upstream import Prepared
from backends.worker.prefix import MAX_TOKENS, Marks, Prefixes, marked, marks_of, read, write

BLOCK = 16


def digest(number: int) -> bytes:
    return number.to_bytes(16, "big")


def prompt(blocks: int, tail: int = 5) -> Prepared:
    """As an engine measures it; block `n` of it has the digest `n`, from 1 on."""
    tokens = blocks * BLOCK + tail
    return Prepared(
        tokens=tokens, exact=True, blocks=tuple(map(digest, range(1, blocks + 1))), block_tokens=BLOCK, salt=b""
    )


def keys(chunks: int) -> tuple[bytes, ...]:
    return tuple(digest(1_000_000 + number) for number in range(chunks))


depths = st.lists(st.integers(1, MAX_TOKENS), max_size=64, unique=True).map(sorted)


@given(st.integers(0, MAX_TOKENS), depths, st.binary(min_size=16, max_size=16))
def test_marks_are_read_as_they_were_written(tokens: int, at: list[int], any_digest: bytes) -> None:
    marks = Marks(tokens, tuple((depth, any_digest) for depth in at))

    assert read(write(marks)) == marks


@given(st.text())
def test_any_other_header_is_no_marks_and_no_error(header: str) -> None:
    found = read(header)

    assert found is None or read(write(found)) == found


@given(st.integers(0, 20_000))
def test_a_prompt_of_any_length_has_few_marks_that_rise_and_lie_in_it(blocks: int) -> None:
    chosen = marked(blocks)

    assert len(chosen) <= 64
    assert sorted(set(chosen)) == chosen
    assert all(1 <= number <= blocks for number in chosen)
    assert bool(chosen) == bool(blocks)
    assert len(write(marks_of(prompt(blocks)))) < 2_000


@given(blocks=st.integers(1, 3000), chunks=st.integers(1, 400), kept=st.integers(0, 3000))
def test_what_is_claimed_of_a_prompt_is_resident_and_no_more_than_one_mark_and_chunk_short(
    blocks: int, chunks: int, kept: int
) -> None:
    assume(kept <= blocks)
    asked, known = prompt(blocks), Prefixes()
    known.learn(keys(chunks), marks_of(asked))

    claimed = known.resident_tokens(keys(chunks), {digest(number) for number in range(1, kept + 1)})

    assert claimed <= kept * BLOCK
    steps = [b - a for a, b in zip([0, *marked(blocks)], marked(blocks), strict=False)]
    short = max(steps) * BLOCK + 2 * asked.tokens / chunks + BLOCK
    assert claimed >= kept * BLOCK - short


def test_a_prompt_that_shares_the_beginning_is_known_as_far_as_it_shares() -> None:
    known, resident = Prefixes(), {digest(number) for number in range(1, 101)}
    known.learn(keys(10), marks_of(prompt(100)))
    other = (*keys(4), *(digest(2_000_000 + number) for number in range(6)))

    shared, whole = known.resident_tokens(other, resident), known.resident_tokens(keys(10), resident)

    assert whole / 2 > shared > whole / 4
    assert known.knows(other)
    assert not known.knows(other[::-1])


def test_what_is_known_has_a_bound_and_the_oldest_goes_first() -> None:
    known = Prefixes(most=10)
    for number in range(5):
        known.learn(tuple(digest(1000 * number + chunk) for chunk in range(4)), marks_of(prompt(20)))

    assert len(known) == 10
    assert not known.knows((digest(0),))
    assert known.knows((digest(4000),))
