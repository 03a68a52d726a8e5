"""Folds of the routing protocols: nothing of a test fold is known in training, and its outcomes stand in no file."""

import csv
from pathlib import Path

import numpy as np
import pytest

from classifiers.outcomes.data import Examples
from loadtests.protocols.__main__ import measured
from loadtests.protocols.folds import leave_one_group_out, write_folds


@pytest.fixture
def examples() -> Examples:
    groups = tuple("abc"[at % 3] for at in range(30))
    names = tuple(f"p{at}" for at in range(30))
    large = np.array([1.0] * 20 + [0.0] * 10)
    return Examples(names, tuple(f"prompt {name}, said in full" for name in names), groups, np.zeros(30), large)


def test_each_group_is_left_out_once_and_never_learned_from(examples: Examples) -> None:
    folds = leave_one_group_out(examples)

    assert [set(fold.test.groups) for fold in folds] == [{"a"}, {"b"}, {"c"}]
    assert all(not set(fold.test.ids) & set(fold.train.ids) for fold in folds)
    assert sorted(name for fold in folds for name in fold.test.ids) == sorted(examples.ids)


def test_the_file_that_is_scored_has_no_outcomes(examples: Examples, tmp_path: Path) -> None:
    write_folds(leave_one_group_out(examples), tmp_path)

    headers = {path.name: next(csv.reader(path.open())) for path in (tmp_path / "0").iterdir()}

    assert headers["test.csv"] == ["prompt_id", "prompt"]
    assert headers["train.csv"] == ["prompt_id", "prompt", "small_correct", "large_correct"]


def test_scores_that_know_the_outcome_recover_most_and_ranks_ignore_the_scale_of_a_fold(examples: Examples) -> None:
    folds = leave_one_group_out(examples)
    sure = [fold.test.q_large * 10.0**at for at, fold in enumerate(folds)]
    p_small = [np.zeros(len(fold.test)) for fold in folds]

    found = measured(folds, sure, p_small)

    assert found["apgr"] > 0.6
    assert found["worst"] > 0.6
    assert found["ece_small"] == 0.0
    assert found["apgr"] == measured(folds, [fold.test.q_large for fold in folds], p_small)["apgr"]
