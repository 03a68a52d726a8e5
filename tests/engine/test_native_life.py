"""Native models live and die politely: beside each other, after a fork, closed twice, asked for nonsense."""

import os
import threading
from dataclasses import replace

import numpy as np
import pytest
from native_reference import Piece, alone, ints, run_step, tables_for
from numpy.typing import NDArray
from random_models import RandomSource, random_spec

from backends.engine.api import Step
from backends.engine.models.native_model import NativeModel, available_for, why_unavailable

pytestmark = pytest.mark.skipif(why_unavailable() is not None, reason=f"no native kernels: {why_unavailable()}")

SPEC = random_spec()
TEXT = list(range(40, 90))
GOOD = Step(ints([5, 6]), ints([0, 1]), ints([0, 0]), ints([[3]]), ints([1]))


def open_model() -> NativeModel:
    return NativeModel(SPEC, RandomSource(SPEC), "int8", 8, 2)


def test_two_models_in_two_threads_answer_as_each_does_alone() -> None:
    models = [open_model(), NativeModel(SPEC, RandomSource(SPEC, seed=1), "float32", 8, 3)]
    expected = [alone(model, TEXT) for model in models]
    answers: list[list[NDArray[np.float32]]] = [[], []]
    start = threading.Barrier(2)

    def work(index: int) -> None:
        start.wait()
        for _ in range(5):
            answers[index].append(alone(models[index], TEXT))

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert [len(answer) for answer in answers] == [5, 5], "a model hangs"
    for index in range(2):
        assert all(np.array_equal(answer, expected[index]) for answer in answers[index])


def test_one_model_called_from_two_threads_takes_turns() -> None:
    model = open_model()
    tables = [ints([[0, 1, 2, 3]]), ints([[4, 5, 6, 7]])]
    expected = run_step(model, [TEXT], tables[0], [Piece(0, 0, 50)])
    seen: list[bool] = []

    def work(table: NDArray[np.int32]) -> None:
        for _ in range(10):
            seen.append(np.array_equal(run_step(model, [TEXT], table, [Piece(0, 0, 50)]), expected))

    threads = [threading.Thread(target=work, args=(table,)) for table in tables]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)

    assert seen == [True] * 20
    model.close()


def test_a_closed_model_says_so_and_closes_again() -> None:
    model = open_model()
    model.close()
    model.close()

    with pytest.raises(ValueError, match="closed"):
        model.forward(GOOD)


def test_a_forked_child_is_refused_instead_of_waiting_for_threads_it_has_not() -> None:
    model = open_model()
    model.forward(GOOD)

    child = os.fork()
    if child == 0:
        try:
            model.forward(GOOD)
        except RuntimeError:
            model.close()
            os._exit(7)
        os._exit(1)

    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    assert np.isfinite(model.forward(GOOD)).all()
    model.close()


def test_a_step_of_no_rows_gives_no_logits() -> None:
    model = open_model()

    logits = model.forward(Step(ints([]), ints([]), ints([]), np.zeros((0, 0), np.int32), ints([])))

    assert logits.shape == (0, SPEC.vocab_size)
    model.close()


def test_a_step_may_want_no_logits_and_still_writes_its_keys() -> None:
    model, tables = open_model(), tables_for([TEXT])
    expected = run_step(model, [TEXT], tables, [Piece(0, 0, 50)])[49:]

    other = open_model()
    other.forward(Step(ints(TEXT[:49]), ints(range(49)), ints([0] * 49), tables, ints([])))

    assert np.array_equal(run_step(other, [TEXT], tables, [Piece(0, 49, 50)]), expected)
    model.close()
    other.close()


BAD_STEPS = {
    "a token beyond the vocabulary": replace(GOOD, tokens=ints([5, 320])),
    "a token below zero": replace(GOOD, tokens=ints([-1, 6])),
    "a position beyond the context": replace(GOOD, positions=ints([0, 512])),
    "a position beyond the block table": replace(GOOD, positions=ints([0, 16])),
    "a position below zero": replace(GOOD, positions=ints([-1, 0])),
    "a sequence that has no table": replace(GOOD, sequence=ints([0, 1])),
    "a sequence below zero": replace(GOOD, sequence=ints([-1, 0])),
    "a block beyond the pool": replace(GOOD, tables=ints([[8]])),
    "a block below zero": replace(GOOD, tables=ints([[-1]])),
    "an early block beyond the pool": replace(GOOD, positions=ints([17, 18]), tables=ints([[99, 1]])),
    "a logit row that is not there": replace(GOOD, logit_rows=ints([2])),
    "a logit row below zero": replace(GOOD, logit_rows=ints([-1])),
    "arrays of different lengths": replace(GOOD, positions=ints([0])),
    "a table of one dimension": replace(GOOD, tables=ints([3])),
    "tokens of two dimensions": replace(GOOD, tokens=ints([[5, 6]])),
    "no tables": replace(GOOD, tables=np.zeros((0, 4), np.int32)),
    "64-bit tokens": replace(GOOD, tokens=np.array([5, 6])),
    "more rows than a step may have": replace(
        GOOD, tokens=ints([5] * 40000), positions=ints([0] * 40000), sequence=ints([0] * 40000)
    ),
    "logits of no rows": replace(GOOD, tokens=ints([]), positions=ints([]), sequence=ints([])),
}


@pytest.mark.parametrize("step", BAD_STEPS.values(), ids=BAD_STEPS.keys())
def test_a_step_that_does_not_fit_is_refused(step: Step) -> None:
    model = open_model()

    with pytest.raises(ValueError, match=r"."):
        model.forward(step)

    assert np.isfinite(model.forward(GOOD)).all()
    model.close()


def test_arrays_that_are_not_contiguous_are_read_as_they_stand() -> None:
    model = open_model()
    strided = Step(
        *(np.repeat(array, 2, axis=-1)[..., ::2] for array in (GOOD.tokens, GOOD.positions, GOOD.sequence)),
        *(np.repeat(array, 2, axis=-1)[..., ::2] for array in (GOOD.tables, GOOD.logit_rows)),
    )

    assert np.array_equal(model.forward(strided), model.forward(GOOD))
    model.close()


class ShortSource(RandomSource):
    """One tensor has a column too few."""

    def tensor(self, name: str) -> NDArray[np.float32]:
        drawn = super().tensor(name)
        return drawn[:, 1:] if name == "layers.1.down" else drawn


def test_a_tensor_of_the_wrong_shape_is_named() -> None:
    with pytest.raises(ValueError, match=r"down of layer 1"):
        NativeModel(SPEC, ShortSource(SPEC), "float32", 2)


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        (random_spec(sliding_window=64), "sliding window"),
        (random_spec(head_dim=24), "head_dim 24"),
        (random_spec(heads=3, kv_heads=2), "evenly"),
    ],
)
def test_a_model_that_the_kernels_lack_something_for_is_refused_with_the_reason(spec: object, reason: str) -> None:
    assert reason in (available_for(spec) or "")  # type: ignore[arg-type]
