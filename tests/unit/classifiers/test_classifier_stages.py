"""The quick stage and what is familiar: bounds that hold as often as they promise, and turns that need no encoder."""

import shutil
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path

import msgspec
import numpy as np
import pytest
import safetensors.numpy

from classifiers import artefact
from classifiers.artefact import Artefact, ArtefactRefused
from classifiers.conformal import lower_bound, upper_bound
from classifiers.embedding.static import open_static
from classifiers.estimator import Estimator
from classifiers.features.text import name_of
from classifiers.glance import Glance, Glances
from classifiers.heads.inputs import Inputs, Targets, read_inputs
from classifiers.measuring.tiered import Gains, measure_tiered
from classifiers.question import Question
from classifiers.reading.readings import readings
from classifiers.stages import LEVEL, beside, fit_locally, static_inputs
from classifiers.training.learn import Learned, learn
from policies.estimates import Span

EASY, HARD = "say hello to everyone", "prove the theorem by induction"
DRAWS = 4000


@pytest.mark.parametrize(("size", "level"), [(9, 0.5), (19, 0.8), (50, 0.8), (200, 0.9)])
def test_a_fresh_number_is_below_the_upper_bound_as_often_as_promised_and_hardly_more_often(size: int, level: float):
    draw = np.random.default_rng(size).standard_exponential((DRAWS, size + 1))

    kept = np.mean([row[-1] <= upper_bound(row[:-1], level) for row in draw])

    noise = 4 * np.sqrt(level * (1 - level) / DRAWS)
    assert level - noise <= kept <= level + 1 / (size + 1) + noise


@pytest.mark.parametrize(("size", "miss"), [(49, 0.02), (99, 0.05), (300, 0.02)])
def test_a_fresh_number_is_below_the_lower_bound_no_more_often_than_promised(size: int, miss: float):
    draw = np.random.default_rng(size).standard_normal((DRAWS, size + 1))

    missed = np.mean([row[-1] < lower_bound(row[:-1], miss) for row in draw])

    noise = 4 * np.sqrt(miss * (1 - miss) / DRAWS)
    assert miss - 1 / (size + 1) - noise <= missed <= miss + noise


def test_so_few_that_nothing_can_be_promised_bound_nothing():
    assert upper_bound(np.zeros(3), 0.8) == np.inf
    assert lower_bound(np.zeros(48), 0.02) == -np.inf


def drawn(size: int, seed: int) -> tuple[list[str], Inputs, Targets]:
    """Turns of two kinds with a number each; the encoder's vectors say the kind and something else that has no word."""
    draw = np.random.default_rng(seed)
    hard = draw.random(size) < 0.5
    texts = [f"{HARD if is_hard else EASY} number {draw.integers(10**6)}" for is_hard in hard]
    vectors = draw.standard_normal((size, 384)).astype(np.float32) * 0.3
    vectors[:, 0] += np.where(hard, 3.0, -3.0)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    quality = np.stack([draw.random(size) > np.where(hard, 0.8, 0.1), draw.random(size) > 0.1], axis=1)
    return texts, read_inputs(texts, vectors), Targets(quality.astype(float), np.ones(size))


@pytest.fixture(scope="module")
def learned() -> Learned:
    texts, inputs, targets = drawn(360, 1)
    return learn(inputs, targets, beside(texts, inputs))


@pytest.fixture(scope="module")
def staged(learned: Learned, trained: Artefact, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The conftest's embedder makes vectors that are like none of these: all is familiar here."""
    folder = tmp_path_factory.mktemp("staged")
    assert learned.stages is not None
    assert learned.stages.odd is not None
    open_minded = replace(learned.stages, least=-np.inf, odd=replace(learned.stages.odd, most=np.inf))
    artefact.save(folder, trained.manifest, learned.blend, learned.p_good, trained.probe, stages=open_minded)
    return folder


def inside(learned: Learned, texts: list[str], inputs: Inputs) -> float:
    assert learned.stages is not None
    full = learned.blend.p_good(inputs)
    ends = [learned.blend.scale.apply(rows) for rows in learned.stages.quick.ends(static_inputs(texts, inputs))]
    _, low, high = (rows[:, 1] - rows[:, 0] for rows in ends)
    gain = full[:, 1] - full[:, 0]
    return float(np.mean((low - 1e-9 <= gain) & (gain <= high + 1e-9)))


def test_the_full_gain_of_fresh_turns_lies_in_the_quick_interval_as_often_as_promised(learned: Learned):
    texts, inputs, _ = drawn(400, 2)

    assert inside(learned, texts, inputs) >= LEVEL - 0.08


def test_bounds_that_were_set_on_local_turns_hold_for_others_like_them(learned: Learned):
    texts, inputs, _ = drawn(300, 3)
    assert learned.stages is not None
    moved = fit_locally(learned.stages, learned.blend, inputs, beside(texts, inputs))

    again, fresh, _ = drawn(400, 4)

    assert inside(replace(learned, stages=moved), again, fresh) >= LEVEL - 0.08


def test_the_ends_lie_around_what_is_likely_and_are_as_far_as_can_be_where_nothing_is_like_it(learned: Learned):
    assert learned.stages is not None
    texts = [f"{EASY} number 5", "Zygomatic quux."]
    inputs = read_inputs(texts, np.zeros((2, 384), np.float32))

    likely, low, high = learned.stages.quick.ends(static_inputs(texts, inputs))

    assert (low[:, 1] <= likely[:, 1]).all()
    assert (likely[:, 1] <= high[:, 1]).all()
    assert (low[1, 1], high[1, 1]) == (-1.0, 1.0)
    assert high[0, 1] - low[0, 1] < 1.0


def test_stages_come_back_from_the_file_as_they_were(staged: Path, learned: Learned):
    texts, inputs, _ = drawn(20, 5)
    opened = artefact.load(staged)
    assert opened.stages is not None
    assert learned.stages is not None

    before, after = (one.quick.ends(static_inputs(texts, inputs)) for one in (learned.stages, opened.stages))

    assert all(np.allclose(one, other, atol=1e-6) for one, other in zip(before, after, strict=True))
    assert opened.stages.quick.least == learned.stages.quick.least


def test_an_artefact_that_was_trained_beside_another_static_table_is_refused(staged: Path, tmp_path: Path):
    other = shutil.copytree(staged, tmp_path / "other")
    tensors = safetensors.numpy.load((other / artefact.TENSORS).read_bytes())
    packed = safetensors.numpy.save({**tensors, "static_probe": -tensors["static_probe"]})
    (other / artefact.TENSORS).write_bytes(packed)
    manifest = msgspec.json.decode((other / artefact.MANIFEST).read_bytes(), type=artefact.Manifest)
    sealed = msgspec.structs.replace(manifest, tensors_sha256=sha256(packed).hexdigest(), digest="")
    digest = sha256(msgspec.json.encode(sealed, order="sorted")).hexdigest()
    (other / artefact.MANIFEST).write_bytes(msgspec.json.encode(msgspec.structs.replace(sealed, digest=digest)))

    with pytest.raises(ArtefactRefused, match="another table of static vectors"):
        artefact.load(other)


def glanced(glances: Glances, turns: Sequence[str]) -> Glance:
    return glances.glance([name_of(turn) for turn in turns], turns)


def test_a_turn_that_is_read_twice_has_the_lower_ends_of_both_readings(staged: Path):
    opened = artefact.load(staged)
    assert opened.stages is not None
    both = ("What is the capital of France? The committee consists of logicians.", "What is the capital of France?")
    assert readings(both[0]) == both

    found = glanced(Glances(opened, open_static(), 10), [both[0]])

    inputs = read_inputs(both, np.zeros((2, 384), np.float32))
    ends = [opened.blend.scale.apply(rows) for rows in opened.stages.quick.ends(static_inputs(both, inputs))]
    for chances, rows in zip((found.likely[0], *found.ends), ends, strict=True):
        low, high = chances.values()
        assert np.isclose(high - low, (rows[:, 1] - rows[:, 0]).min(), atol=2e-4)


def test_a_conversation_that_was_looked_at_before_is_told_apart_from_any_other(staged: Path):
    glances = Glances(artefact.load(staged), open_static(), 10)
    one, other = "What is 2 + 2?", "Prove that there are infinitely many primes."

    before = glanced(glances, [one, other])

    assert glanced(glances, [one, other]) is before
    fresh = Glances(artefact.load(staged), open_static(), 10)
    for turns in ([one], [other], [other, one], [one + other], [one, other, one], [one, other]):
        assert glanced(glances, turns) == glanced(fresh, turns)
    assert before != glanced(glances, [other, one])


def open_at(*places: int):
    """Says that these prefixes are open, and keeps what it was asked."""
    asked: list[Span] = []

    def unsettled(span: Span) -> tuple[int, ...]:
        asked.append(span)
        return places

    return unsettled, asked


async def test_where_the_quick_stage_suffices_nothing_is_embedded(staged: Path, embedder):
    counting = embedder()
    unsettled, asked = open_at()

    estimate = await Estimator(artefact.load(staged), counting).estimate(Question((HARD, EASY)), 5, unsettled)

    assert counting.asked == []
    assert estimate.stage == "quick"
    assert (estimate.ends, len(estimate.earlier)) == ((asked[0].low.p_good, asked[0].high.p_good), 1)
    gain = estimate.p_good["large"] - estimate.p_good["small"]
    low, high = (end.p_good["large"] - end.p_good["small"] for end in asked[0])
    assert low <= gain <= high


async def test_only_the_turns_of_open_prefixes_are_embedded(staged: Path, embedder):
    opened, counting = artefact.load(staged), embedder()
    turns = (EASY, HARD, "thanks")

    estimate = await Estimator(opened, counting).estimate(Question(turns), 5, open_at(1)[0])

    whole = await Estimator(opened, embedder()).estimate(Question(turns), 5)
    quick = await Estimator(opened, embedder()).estimate(Question(turns), 5, open_at()[0])
    assert counting.asked == [EASY, HARD]
    assert estimate.stage == "quick"
    assert estimate.earlier == (quick.earlier[0], whole.earlier[1])
    assert estimate.p_good == quick.p_good


async def test_an_open_turn_gets_the_full_estimate(staged: Path, embedder):
    opened = artefact.load(staged)

    tiered = await Estimator(opened, embedder()).estimate(Question((HARD,)), 5, open_at(0)[0])

    whole = await Estimator(opened, embedder()).estimate(Question((HARD,)), 5)
    assert (tiered.stage, whole.stage) == ("full", "full")
    assert (tiered.p_good, whole.ends) == (whole.p_good, None)
    assert tiered.ends is not None


async def test_what_the_encoder_said_is_kept_for_the_prefixes_that_it_was_asked_of(staged: Path, embedder):
    opened, turns = artefact.load(staged), (HARD, EASY, HARD)
    kept = Estimator(opened, embedder())

    for places in ((0,), (2,), (0, 2), (2,), (), (2,), (1,), (0, 1, 2), (0,), (0,)):
        found = await kept.estimate(Question(turns), 5, open_at(*places)[0])
        fresh = await Estimator(opened, embedder()).estimate(Question(turns), 5, open_at(*places)[0])
        assert msgspec.structs.replace(found, took_us=0) == msgspec.structs.replace(fresh, took_us=0)


async def test_a_turn_unlike_any_of_training_has_no_estimate_and_its_prefix_no_chances(
    learned: Learned, trained: Artefact, embedder, tmp_path: Path
):
    assert learned.stages is not None
    picky = replace(learned.stages, least=2.0)
    artefact.save(tmp_path, trained.manifest, learned.blend, learned.p_good, trained.probe, stages=picky)
    estimator = Estimator(artefact.load(tmp_path), embedder())

    alone = await estimator.estimate(Question((HARD,)), 5)
    later = await estimator.estimate(Question((HARD, EASY)), 5, open_at(0)[0])

    assert "unlike anything it was trained on" in alone.abstains
    assert later.earlier == ({},)
    assert later.p_good


def test_a_quick_stage_that_is_always_right_loses_nothing_and_one_that_knows_nothing_answers_nothing():
    draw = np.random.default_rng(0)
    full, small, large = draw.random(300), draw.random(300) * 0.5, 0.5 + draw.random(300) * 0.5

    sure = measure_tiered(Gains(full, full, full, full), small, large)
    unsure = measure_tiered(Gains(full, full, full - 2, full + 2), small, large)

    assert (sure.share_quick, sure.apgr_loss, sure.moved, sure.inside) == (1.0, 0.0, 0.0, 1.0)
    assert (unsure.share_quick, unsure.apgr_loss, unsure.moved, unsure.inside) == (0.0, 0.0, 0.0, 1.0)


def test_the_static_table_is_small_and_says_what_it_was_made_from():
    from safetensors import safe_open

    from classifiers.embedding.static import TABLE

    with safe_open(TABLE, "np") as file:
        card = file.metadata()
    assert "all-MiniLM-L6-v2" in card["made_from"]
    assert TABLE.stat().st_size < 3_000_000
    assert np.isclose(np.linalg.norm(open_static().vector("what is this")), 1.0)
    assert not open_static().vector("☃").any()
