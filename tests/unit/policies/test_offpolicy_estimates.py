"""What a log says of another policy is true at its nominal rate, where the truth is known."""

import random
import statistics
from math import sqrt

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from offpolicy_world import ALL_LARGE, ALL_SMALL, FINE, HARD, NEAR, World, log_of
from scipy.stats import t as student

from policies.offpolicy.estimate import MOST_UNSEEN, estimate
from policies.offpolicy.sample import Found, Refused, Sample
from policies.offpolicy.spread import t_quantile

UNIT = (0.0, 1.0)
LOGS = 400

Case = tuple[World, int, float | None]


def told(found: Found | Refused) -> Found:
    assert isinstance(found, Found), found
    return found


@pytest.mark.parametrize(
    ("world", "count", "error"),
    [
        (NEAR, 600, None),
        (NEAR, 600, 0.0),
        (NEAR._replace(explore=0.04), 1_000, None),
        (ALL_LARGE, 600, None),
        (ALL_LARGE, 600, 0.4),
        (ALL_SMALL, 600, None),
        (HARD, 600, 0.0),
        (FINE, 600, None),
    ],
)
def test_an_interval_holds_the_truth_at_its_nominal_rate(world: World, count: int, error: float | None) -> None:
    truth, gain = world.truth(), world.truth() - world.value_logged()
    dice, means, held, gained, missed = random.Random(11), [], 0, 0, 0
    for _ in range(LOGS):
        found = estimate(log_of(world, count, dice, error=error), bounds=UNIT)
        if isinstance(found, Refused):
            missed += 1
            continue
        means.append(found.mean.value)
        held += found.mean.low <= truth <= found.mean.high
        gained += found.change.low <= gain <= found.change.high

    assert missed < LOGS / 20
    assert held / len(means) >= 0.93
    assert gained / len(means) >= 0.93
    assert abs(statistics.mean(means) - truth) < 3.5 * statistics.stdev(means) / sqrt(len(means)) + 0.002


def test_turns_of_a_conversation_are_one_piece_of_evidence() -> None:
    """Taken for as many, they would make the interval too narrow by half, and wrong far too often."""
    dice = random.Random(3)
    once = log_of(NEAR, 600, dice)
    thrice = [one for one in once for _ in range(4)]
    apart = [msgspec.structs.replace(one, unit=float(i)) for i, one in enumerate(thrice)]

    one, same, wrong = (told(estimate(samples, bounds=UNIT)) for samples in (once, thrice, apart))

    assert same.mean.high - same.mean.low == pytest.approx(one.mean.high - one.mean.low, rel=1e-6)
    assert same.effective == pytest.approx(one.effective)
    assert wrong.mean.high - wrong.mean.low < 0.6 * (one.mean.high - one.mean.low)


def test_a_good_prediction_narrows_the_interval_of_a_mean_that_predictions_tell() -> None:
    """The world where models differ by much and answers by little, so that chance is in who was drawn."""
    dice, plain, robust = random.Random(5), [], []
    for _ in range(20):
        samples = log_of(ALL_LARGE, 600, dice, error=0.0)
        sure = [msgspec.structs.replace(one, reward=one.predicted) for one in samples]
        bare = [msgspec.structs.replace(one, predicted=0.0, expected=0.0) for one in sure]
        for found, into in ((estimate(sure), robust), (estimate(bare), plain)):
            into.append(told(found).mean.high - told(found).mean.low)

    assert statistics.mean(robust) < 0.6 * statistics.mean(plain)


def test_the_policy_that_logged_comes_to_what_it_came_to() -> None:
    samples = [msgspec.structs.replace(one, target=one.logged) for one in log_of(NEAR, 500, random.Random(1))]

    found = told(estimate(samples, bounds=UNIT))

    assert found.mean.value == pytest.approx(sum(one.reward for one in samples) / len(samples))
    assert found.change.value == pytest.approx(0.0, abs=1e-12)
    assert found.effective == pytest.approx(500)


def test_two_policies_are_compared_on_the_same_choices() -> None:
    """What both would do alike moves neither: a policy differs from itself by nothing, with certainty but for one unit."""
    samples = log_of(NEAR, 600, random.Random(2))

    same = told(estimate(samples, against=samples))
    other = [msgspec.structs.replace(one, target=one.logged) for one in samples]
    back, forth = told(estimate(samples, against=other)), told(estimate(other, against=samples))

    assert (same.change.value, same.change.low, same.change.high) == (0.0, 0.0, 0.0)
    assert back.change.value == pytest.approx(-forth.change.value)
    assert back.change.high - back.change.low == pytest.approx(forth.change.high - forth.change.low)


SHARES = st.floats(0.0, 0.45)


@settings(max_examples=60, deadline=None)
@given(SHARES, st.integers(0, 10_000))
def test_what_the_log_cannot_show_lies_between_the_bounds(share: float, seed: int) -> None:
    """Choices that were never drawn: the interval holds whatever their rewards would have been."""
    dice = random.Random(seed)
    samples = [
        Sample(unit=float(i), reward=float(dice.random() < 0.8), target=float(not hidden), open=float(hidden))
        for i in range(400)
        for hidden in [dice.random() < share]
    ]
    unseen = statistics.mean(one.open for one in samples)
    assume(unseen <= MOST_UNSEEN)  # beyond it no interval is told at all, which is a case of its own below
    shown = [one.reward for one in samples if not one.open]

    found = told(estimate(samples, bounds=UNIT))

    assert found.unseen == pytest.approx(unseen)
    for hidden in (0.0, 1.0):
        at = (1 - unseen) * statistics.mean(shown) + unseen * hidden
        assert found.mean.low <= at + 1e-9
        assert found.mean.high >= at - 1e-9
    assert found.mean.high - found.mean.low >= unseen - 1e-9


@pytest.mark.parametrize(
    ("samples", "bounds", "why"),
    [
        ([Sample(unit=float(i), reward=1.0, target=0.0, open=1.0) for i in range(50)], UNIT, "would do was done"),
        (
            [Sample(unit=float(i), reward=1.0, target=float(i < 20), open=float(i >= 20)) for i in range(50)],
            UNIT,
            "no evidence on 60.0%",
        ),
        (
            [Sample(unit=float(i), reward=1.0, target=float(i > 0), open=float(i == 0)) for i in range(50)],
            None,
            "may cost anything",
        ),
        ([Sample(unit=0.0, reward=1.0)] * 100, UNIT, "worth 1.0 independent requests"),
    ],
)
def test_where_there_is_no_evidence_there_is_no_number(
    samples: list[Sample], bounds: tuple[float, float] | None, why: str
) -> None:
    found = estimate(samples, bounds=bounds)

    assert isinstance(found, Refused)
    assert why in found.why


def test_a_weight_that_is_cut_widens_the_interval_by_what_it_might_have_said() -> None:
    samples = [Sample(unit=float(i), reward=1.0, logged=0.01 if i < 2 else 1.0) for i in range(1_000)]

    whole, cut = (told(estimate(samples, bounds=UNIT, clip=clip)) for clip in (1_000.0, 10.0))

    assert (whole.clipped, whole.unseen) == (0.0, pytest.approx(0.0))
    assert cut.clipped == 0.002
    assert cut.unseen == pytest.approx(1 - (998 + 20) / (998 + 200))
    assert cut.mean.high - cut.mean.low > cut.unseen


@pytest.mark.parametrize("freedom", [4.0, 5.5, 12.0, 80.0, 1_500.0, 1e6])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
def test_the_quantile_is_students(level: float, freedom: float) -> None:
    assert t_quantile(level, freedom) == pytest.approx(student.ppf((1 + level) / 2, freedom), rel=2e-3)
