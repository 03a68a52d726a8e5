"""What a head would do on kinds of prompts that it has not learned from."""

import numpy as np
import pytest

from classifiers.features.lexical import NAMES
from classifiers.heads.inputs import Inputs, Targets
from classifiers.training.new_kinds import FROM_ROWS, on_new_kinds

LENGTH = NAMES.index("log_chars")


def world(size: int, *, shared: bool) -> tuple[Inputs, Targets, np.ndarray]:
    """Prompts of eight kinds, each around a direction of its own. What the large model gains goes by a direction that all kinds
    share, or else by a fair draw that has the kind's own mean."""
    dice = np.random.default_rng(3)
    kind = dice.integers(0, 8, size)
    vectors = dice.standard_normal((size, 384)).astype(np.float32) * 0.03
    vectors[np.arange(size), kind] += 1.0
    vectors[:, 100] = dice.choice([-0.4, 0.4], size)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lexical = dice.standard_normal((size, len(NAMES))).astype(np.float32)
    chance = np.where(vectors[:, 100] > 0, 0.9, 0.1) if shared else kind / 8
    gains = dice.random(size) < chance
    quality = np.stack([np.zeros(size), gains.astype(float)], axis=1)
    return Inputs(vectors, lexical), Targets(quality, np.ones(size)), lexical[:, LENGTH].astype(np.float64)


def test_what_all_kinds_share_is_of_use_on_a_new_one_and_the_mean_of_a_kind_is_not() -> None:
    shared, own = (on_new_kinds(*world(400, shared=same), (0, 1)) for same in (True, False))

    assert shared is not None
    assert own is not None
    assert shared.ours > 0.62
    assert abs(own.ours - 0.5) < 0.08
    assert abs(shared.length - 0.5) < 0.08


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_few_rows_or_no_gap_tell_nothing(pair: tuple[int, int]) -> None:
    size = FROM_ROWS - 1 if pair == (0, 1) else FROM_ROWS

    assert on_new_kinds(*world(size, shared=True), pair) is None
