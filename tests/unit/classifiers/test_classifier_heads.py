"""The heads: what they learn from few rows, from many, from weighted ones; and what they assume before they know."""

from collections.abc import Iterator

import numpy as np
import pytest
import sklearn.ensemble  # noqa: F401  the limit holds for libraries that are loaded when it is set
from threadpoolctl import threadpool_limits

from classifiers.features.lexical import NAMES
from classifiers.heads import boosted, kernel
from classifiers.heads.blend import Blend, crossed, load
from classifiers.heads.inputs import Inputs, Targets
from classifiers.heads.penalty import fit_ridge
from classifiers.training.learn import learn
from classifiers.training.own import held_out

WIDTH = 16


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As `learn` trains: threads that spin for one another take minutes where other work shares the cores."""
    with threadpool_limits(1):
        yield


def invented(size: int, seed: int = 3, models: int = 2) -> tuple[Inputs, Targets]:
    """The first lexical feature and the first direction of the embedding decide how well each model does."""
    draw = np.random.default_rng(seed)
    vectors = draw.standard_normal((size, WIDTH)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    lexical = draw.standard_normal((size, len(NAMES))).astype(np.float32)
    hard = 1 / (1 + np.exp(-6 * vectors[:, 0] - lexical[:, 0]))
    strength = np.linspace(0.9, 0.2, models)
    return Inputs(vectors, lexical), Targets(1 - hard[:, None] * strength, np.ones(size))


def test_chances_of_a_row_that_a_scale_had_not_seen_do_not_depend_on_how_that_row_came_out():
    _, targets = invented(100)
    said = np.random.default_rng(1).random((100, 2))
    others = Targets(np.where(np.arange(100)[:, None] % 5 == 3, 0.0, targets.quality), targets.weight)

    before, after = crossed(said, targets), crossed(said, others)

    same = (before == after).all(axis=1)
    assert same[3::5].all()
    assert not same[:3].any()


@pytest.mark.parametrize("head", [kernel, boosted])
def test_a_head_orders_prompts_that_it_has_not_seen(head):
    inputs, targets = invented(600)
    seen, unseen = np.arange(400), np.arange(400, 600)

    contrasts = head.fit(inputs.take(seen), targets.take(seen)).contrasts(inputs.take(unseen))

    small, large = targets.quality[unseen].T
    assert np.corrcoef(contrasts[:, 0], (small + large) / 2)[0, 1] > 0.6
    assert np.corrcoef(contrasts[:, 1], large - small)[0, 1] > 0.6


@pytest.mark.parametrize("head", [kernel, boosted])
def test_a_head_answers_alike_after_it_was_packed(head):
    inputs, targets = invented(200)
    fitted = head.fit(inputs, targets)

    again = head.load(fitted.tensors())

    assert np.array_equal(again.contrasts(inputs), fitted.contrasts(inputs))


@pytest.mark.parametrize("models", [2, 3, 4])
def test_any_number_of_models_has_its_chances_in_the_order_of_their_strength(models: int):
    inputs, targets = invented(300, models=models)

    p_good = learn(inputs, targets).blend.p_good(inputs)

    assert p_good.shape == (300, models)
    assert ((p_good >= 0.005) & (p_good <= 0.995)).all()
    assert (np.diff(p_good.mean(0)) > 0).all()
    assert np.allclose(p_good.mean(0), targets.quality.mean(0), atol=0.08)


def test_a_row_of_weight_two_counts_as_two_rows():
    inputs, targets = invented(80)
    weight = np.where(np.arange(80) < 20, 2.0, 1.0)
    columns = inputs.lexical.astype(np.float64)[:, :5]

    weights, bias = fit_ridge(columns, targets.quality, weight)

    fit = columns @ weights + bias
    residual = (targets.quality - fit) * weight[:, None]
    assert np.allclose(residual.sum(0), 0, atol=1e-8)  # the bias is not penalised, so weighted residuals cancel


def test_while_outcomes_are_few_and_say_nothing_longer_prompts_are_thought_to_gain_more():
    draw = np.random.default_rng(0)
    inputs, _ = invented(60)
    quality = np.stack([np.full(60, 0.5), np.where(draw.random(60) < 0.5, 1.0, 0.5)], axis=1)
    head = kernel.fit(inputs, Targets(quality, np.ones(60)))
    length = NAMES.index("log_chars")
    short, long = inputs.lexical[:1].copy(), inputs.lexical[:1].copy()
    short[0, length], long[0, length] = -1.5, 1.5

    gains = [head.contrasts(Inputs(inputs.vectors[:1], row))[0, 1] for row in (short, long)]

    assert gains[0] < gains[1]


def test_outcomes_overrule_the_assumption_about_length():
    inputs, _ = invented(400)
    length = inputs.lexical[:, NAMES.index("log_chars")]
    gain = np.clip(0.5 - 0.3 * length, 0, 1)
    head = kernel.fit(inputs, Targets(np.stack([1 - gain, np.ones(400)], axis=1), np.ones(400)))

    assert np.corrcoef(head.contrasts(inputs)[:, 1], length)[0, 1] < -0.8


def test_few_rows_train_the_kernel_alone_and_many_the_trees_too():
    few, many = learn(*invented(60)).blend, learn(*invented(3000)).blend

    assert list(few.members) == ["kernel"]
    assert list(many.members) == ["kernel", "boosted"]
    for blend in (few, many):
        inputs, _ = invented(40, seed=9)
        assert np.array_equal(load(blend.tensors()).p_good(inputs), blend.p_good(inputs))


def test_calibrating_never_changes_the_order_of_gains():
    inputs, targets = invented(300)
    blend: Blend = learn(inputs, targets).blend
    raw = np.mean([head.contrasts(inputs)[:, 1] for head in blend.members.values()], axis=0)

    p_good = blend.p_good(inputs)

    inner = ((p_good > 0.01) & (p_good < 0.99)).all(axis=1)
    order = np.argsort(raw[inner])
    assert (np.diff((p_good[inner, 1] - p_good[inner, 0])[order]) >= -1e-9).all()


def test_what_is_kept_back_was_not_known_when_it_was_scored():
    draw = np.random.default_rng(1)
    inputs, _ = invented(240)
    noise = Targets((draw.random((240, 2)) < [0.4, 0.8]).astype(float), np.ones(240))

    learned = learn(inputs, noise)

    assert sorted(learned.kept.tolist()) == list(range(240))
    assert abs(np.corrcoef(learned.p_good[:, 0], noise.quality[learned.kept, 0])[0, 1]) < 0.2


def test_prompts_that_are_all_alike_are_told_apart_at_random_and_not_worse():
    """Without its own round a row's heads know a lower mean where it was good: over all rounds they would look upside down."""
    alike, _ = invented(60)
    inputs = alike.take(np.zeros(60, np.intp))
    quality = (np.random.default_rng(0).random((60, 2)) < [0.5, 0.8]).astype(float)

    learned = learn(inputs, Targets(quality, np.ones(60)))

    found = held_out(learned.p_good, quality[learned.kept], ("small", "large"), learned.round_of)
    assert found["apgr"] == pytest.approx(0.5)
    assert held_out(learned.p_good, quality[learned.kept], ("small", "large"), 0 * learned.kept)["apgr"] < 0.45
