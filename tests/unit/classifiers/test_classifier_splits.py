"""Which rows are learned from and which are measured: disjoint, complete, the same everywhere."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from classifiers.measuring.baselines import BASELINES
from classifiers.outcomes import data, pool, splits
from classifiers.outcomes.data import DataMissing, Examples, same_question
from loadtests.protocols.folds import PROTOCOLS


@pytest.fixture
def examples() -> Examples:
    ids = tuple(f"row-{at}" for at in range(200))
    return Examples(ids, tuple(f"prompt {name}" for name in ids), ("g",) * 200, np.arange(200) / 200, np.ones(200))


def test_five_folds_test_every_row_once_and_never_learn_from_it(examples: Examples):
    folds = splits.cv5(examples)

    assert sorted(name for fold in folds for name in fold.test.ids) == sorted(examples.ids)
    assert all(not set(fold.train.ids) & set(fold.test.ids) for fold in folds)
    assert all(len(fold.train) + len(fold.test) == 200 for fold in folds)


def test_a_fold_is_the_published_hash_of_the_id(examples: Examples):
    expected = int(hashlib.sha1(b"cv5:row-17").hexdigest()[:8], 16) % 5

    assert "row-17" in splits.cv5(examples)[expected].test.ids


def test_what_few_outcomes_teach_is_measured_from_250_to_4000_by_both_commands():
    few = [name for name in splits.SPLITS if "few" in name]

    assert few == [name for name in PROTOCOLS if "few" in name]
    assert {"mmlu-few250", "mmlu-few1000", "mmlu-few4000"} <= {*few}


def test_few_labels_means_that_many_and_each_draw_is_another(examples: Examples):
    folds = splits.few(examples, 25)

    assert [len(fold.train) for fold in folds] == [25] * 5
    assert len({fold.train.ids for fold in folds}) == 5
    assert all(not set(fold.train.ids) & set(fold.test.ids) for fold in folds)


def test_rows_keep_their_outcomes_when_taken(examples: Examples):
    taken = examples.take([3, 1])

    assert taken.ids == ("row-3", "row-1")
    assert taken.q_small.tolist() == [3 / 200, 1 / 200]
    assert data.join([taken, taken]).ids == ("row-3", "row-1") * 2


def test_missing_tables_are_all_named(tmp_path: Path):
    with pytest.raises(DataMissing) as refused:
        data.require(tmp_path)

    assert all(name in str(refused.value) for name in data.FILES)


@pytest.mark.parametrize("other", ["WHAT is 2+2?", "what is 2 + 2 ?\nAnswer:", " What  is 2+2"])
def test_spelling_does_not_make_another_question(other: str):
    assert same_question(other) == same_question("What is 2+2?")


def test_the_anchors_are_distinct_and_their_chances_are_chances():
    anchors = pool.read_anchors()

    assert 150 <= len(anchors) <= 250
    assert len(set(anchors.texts)) >= len(anchors) - 1
    for quality in (anchors.q_small, anchors.q_large):
        assert ((quality > 0) & (quality < 1)).all()
    assert (anchors.q_large >= anchors.q_small).all()


def test_every_baseline_orders_all_prompts_alike_in_every_run():
    texts = ["a", "bb", "a longer prompt"]

    for order in BASELINES.values():
        assert order(texts).shape == (3,)
        assert order(texts).tolist() == order(texts).tolist()
    assert np.argmax(BASELINES["length"](texts)) == 2
