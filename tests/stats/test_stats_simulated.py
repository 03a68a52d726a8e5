"""The suites of `turnout experiment simulate`: that they drive the formulas which run live, and what they find."""

import numpy as np
import pytest
from scipy import stats

from gateway.experiments.crowd import CrowdQuantile, CrowdRates, CrowdRatio, CrowdScores
from gateway.experiments.simulate import at_least, null_suite, power_suite
from policies.experiments import evidence as ev
from policies.experiments.plan import Margin, Metric
from policies.experiments.scores import Draw, Scores
from policies.experiments.scores import see as see_score

RUNS, STEPS = 3, 400


def drawn(seed):
    """Assignments of a ramp, and outcomes."""
    random = np.random.default_rng(seed)
    for step in range(STEPS):
        chance = 0.1 if step < STEPS // 2 else 0.5
        yield random, chance, random.random(RUNS) < chance


def test_many_runs_at_once_are_the_pure_scores_to_the_digit():
    crowd, alone = CrowdScores(RUNS, 0.05), [Scores() for _ in range(RUNS)]
    for random, chance, treated in drawn(1):
        outcome = random.lognormal(0, 1.5, RUNS)
        crowd.see(outcome, treated, chance, 1 - chance)
        alone = [
            see_score(state, Draw(bool(t), chance, 1 - chance), float(y), (), 0.05)
            for state, t, y in zip(alone, treated, outcome, strict=True)
        ]
        assert crowd.log_e == pytest.approx([state.log_e for state in alone], abs=1e-9)

    assert (crowd.rho > 0).all()
    assert crowd.total == pytest.approx([state.total for state in alone])


@pytest.mark.parametrize("kind", ["binary", "quantile", "ratio"])
def test_many_runs_at_once_are_the_pure_evidence_to_the_digit(kind):
    metric = Metric("m", "m", kind, "down", 0.95 if kind == "quantile" else 0.0)
    rates, point, ratio, scores = CrowdRates(RUNS), CrowdQuantile(RUNS, 0.95), CrowdRatio(RUNS), CrowdScores(RUNS, 0.05)
    margin = None if kind == "ratio" else Margin()
    alone = [ev.begin(metric, 0.05, margin, once=True) for _ in range(RUNS)]
    for random, chance, treated in drawn(2):
        amount, bottom = random.lognormal(0, 1.5, RUNS), random.poisson(0.7, RUNS).astype(float)
        event = random.random(RUNS) < 0.1
        values = {
            "binary": [float(happened) for happened in event],
            "quantile": [float(value) for value in amount],
            "ratio": [(float(top), float(low)) for top, low in zip(amount, bottom, strict=True)],
        }[kind]
        if kind == "ratio":
            scores.see(ratio.linearised(amount, bottom), treated, chance, 1 - chance)
        else:
            rates.see(event if kind == "binary" else point.above(amount), treated, chance)
        alone = [
            ev.see(state, Draw(bool(t), chance, 1 - chance), value)
            for state, t, value in zip(alone, treated, values, strict=True)
        ]
        together = scores.log_e if kind == "ratio" else rates.log_e
        assert together == pytest.approx([state.log_e for state in alone], abs=1e-9)


def test_false_stops_stay_below_alpha_in_every_world_at_every_look():
    """24 worlds; the whole suite of 2,000 runs is `python -m loadtests.experiments`."""
    found = list(null_suite(200, seed=7, length=1_000))

    assert len({null.null for null in found}) == 24
    assert {null.test for null in found} == {"difference", "events above", "p95 above"}
    assert [null for null in found if not null.holds] == []


def test_a_difference_is_seen_about_as_soon_as_by_the_asymptotic_sequence():
    found = power_suite(200, seed=7)

    assert found.undecided == 0
    assert found.vs_asympcs <= 1.15


@pytest.mark.parametrize(("count", "runs"), [(0, 200), (3, 200), (130, 2_000), (200, 200)])
def test_the_sure_part_of_a_rate_is_clopper_and_pearsons(count, runs):
    exact = 0.0 if count == 0 else float(stats.beta.ppf(0.01, count, runs - count + 1))

    assert at_least(count, runs) == pytest.approx(exact, abs=1e-9)
