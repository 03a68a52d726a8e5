"""Whatever the schedule, the bits are the same: chunks, batches, block tables, threads, and what a block held before."""

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from native_reference import KV_PRECISIONS, PRECISIONS, RUNNABLE, Piece, alone, ints, run_step, tables_for
from numpy.typing import NDArray
from random_models import RandomSource, random_spec

from backends.engine.api import BLOCK_TOKENS, Step
from backends.engine.models.native_model import NativeModel, why_unavailable

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=f"no native kernels: {why_unavailable()}")

SPEC = random_spec(hidden=64, heads=6, kv_heads=2, mlp=96)
BLOCKS = 64
LENGTHS = (45, 3, 150, 17, 33, 1)
TEXTS = [np.random.default_rng(length).integers(0, SPEC.vocab_size, length).tolist() for length in LENGTHS]

combinations = list(itertools.product(RUNNABLE, PRECISIONS, KV_PRECISIONS))


def open_model(variant: object, precision: str, kv: str, threads: int = 2) -> NativeModel:
    return NativeModel(
        SPEC,
        RandomSource(SPEC),
        precision,
        BLOCKS,
        threads,
        kv_precision=kv,
        variant=variant,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module", params=combinations, ids=lambda three: f"{three[0].name}-{three[1]}-kv-{three[2]}")
def model(request: pytest.FixtureRequest) -> Iterator[NativeModel]:
    model = open_model(*request.param)
    yield model
    model.close()


@pytest.fixture(scope="module")
def expected(model: NativeModel) -> list[NDArray[np.float32]]:
    return [alone(model, text) for text in TEXTS]


def test_a_chunk_of_any_size_gives_the_bits_of_single_rows(
    model: NativeModel, expected: list[NDArray[np.float32]]
) -> None:
    text, tables = TEXTS[0], tables_for(TEXTS[:1])
    for size in range(1, 41):
        cuts = [*range(0, len(text), size), len(text)]
        chunks = [run_step(model, [text], tables, [Piece(0, *cut)]) for cut in itertools.pairwise(cuts)]

        assert np.array_equal(np.concatenate(chunks), expected[0]), f"chunks of {size}"


def test_a_row_in_a_batch_of_any_size_gives_the_bits_it_gives_alone(
    model: NativeModel, expected: list[NDArray[np.float32]]
) -> None:
    run_step(model, TEXTS[4:5], ints([[0, 1]]), [Piece(0, 0, 19)])
    for size in range(1, 41):
        tokens = ints([TEXTS[4][19], *TEXTS[2][: size - 1]])
        positions = ints([19, *[0] * (size - 1)])
        tables = ints([[0, 1], *([2 + other, 0] for other in range(size - 1))])

        logits = model.forward(Step(tokens, positions, ints(range(size)), tables, ints([0])))

        assert np.array_equal(logits[0], expected[4][19]), f"a batch of {size}"


@st.composite
def schedules(draw: st.DrawFn) -> list[list[Piece]]:
    """Steps that together run every sequence once, in pieces of any size, a piece of any of them in any step."""
    done, steps = [0] * len(TEXTS), []
    while any(done[s] < length for s, length in enumerate(LENGTHS)):
        waiting = [s for s, length in enumerate(LENGTHS) if done[s] < length]
        chosen = draw(st.lists(st.sampled_from(waiting), min_size=1, unique=True))
        sizes = [min(draw(st.sampled_from([1, 2, 5, 8, 16, 64])), LENGTHS[s] - done[s]) for s in chosen]
        steps.append([Piece(s, done[s], done[s] + size) for s, size in zip(chosen, sizes, strict=True)])
        for s, size in zip(chosen, sizes, strict=True):
            done[s] += size
    return steps


@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(schedule=schedules(), blocks=st.permutations(range(BLOCKS)))
def test_any_schedule_over_any_blocks_gives_the_bits_of_single_rows(
    model: NativeModel, expected: list[NDArray[np.float32]], schedule: list[list[Piece]], blocks: list[int]
) -> None:
    tables = tables_for(TEXTS, blocks)
    for pieces in schedule:
        logits = run_step(model, TEXTS, tables, pieces)

        wanted = np.concatenate([expected[piece.sequence][piece.first : piece.last] for piece in pieces])
        assert np.array_equal(logits, wanted), pieces


def test_logits_of_some_rows_in_any_order_are_those_of_all_rows(
    model: NativeModel, expected: list[NDArray[np.float32]]
) -> None:
    text, wanted = TEXTS[2], [149, 3, 3, 77, 78, 0]
    step = Step(ints(text), ints(range(150)), ints([0] * 150), tables_for([text]), ints(wanted))

    assert np.array_equal(model.forward(step), expected[2][wanted])


@pytest.mark.parametrize("kv", KV_PRECISIONS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_number_of_threads_changes_no_bit(precision: str, kv: str) -> None:
    text, tables = TEXTS[2], tables_for([TEXTS[2]])
    results = []
    for threads in (1, 2, 3, 7):
        model = open_model(None, precision, kv, threads)
        run_step(model, [text], tables, [Piece(0, 0, 149)])
        results.append(run_step(model, [text], tables, [Piece(0, 149, 150)]))
        model.close()

    assert all(np.array_equal(result, results[0]) for result in results)


class PoisonedSource(RandomSource):
    """Token 7 is not a number, and neither is anything computed from it."""

    def tensor(self, name: str) -> NDArray[np.float32]:
        drawn = super().tensor(name)
        if name == "embed":
            drawn[7] = np.nan
        return drawn


@pytest.mark.parametrize("kv", KV_PRECISIONS)
@pytest.mark.parametrize("precision", PRECISIONS)
def test_what_an_earlier_owner_left_in_a_block_never_counts(precision: str, kv: str) -> None:
    spec = random_spec(tied_head=False)
    fresh, used = (
        NativeModel(spec, PoisonedSource(spec), precision, 4, 2, kv_precision=kv)  # type: ignore[arg-type]
        for _ in range(2)
    )
    clean = list(range(100, 100 + BLOCK_TOKENS * 2))
    run_step(used, [[7] * BLOCK_TOKENS * 2], ints([[0, 1]]), [Piece(0, 0, BLOCK_TOKENS * 2)])

    for last in range(1, len(clean)):
        step = [Piece(0, last - 1, last)]
        assert np.array_equal(
            run_step(fresh, [clean], ints([[0, 1]]), step), run_step(used, [clean], ints([[0, 1]]), step)
        ), f"{last} tokens"
    fresh.close()
    used.close()
