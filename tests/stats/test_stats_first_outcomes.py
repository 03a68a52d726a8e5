"""Units that come again, by their first outcomes: as quick as units that come once, and no more often wrong."""

import math

import numpy as np
import pytest

from gateway.experiments.simulate import at_least
from policies.experiments import evidence as ev
from policies.experiments.metrics import MEASURED
from policies.experiments.plan import Margin
from policies.experiments.scores import Draw

ERRORS = MEASURED["error_rate"]
ALPHA = 0.05


def test_users_of_whom_some_always_fail_break_no_guardrail_more_often_than_it_may():
    """A look at every request; who fails is who they are, whatever they got."""
    runs, broken = 120, 0
    for seed in range(runs):
        random, state = np.random.default_rng(seed), ev.begin(ERRORS, ALPHA, Margin(), once=False)
        arms, fails, places = random.random(60) < 0.5, random.random(60) < 0.3, random.random(60)
        met = set()
        for user in random.integers(0, 60, 250):
            first = user not in met
            met.add(user)
            state = ev.see(state, Draw(bool(arms[user]), 0.5, 0.5, float(places[user]), first), float(fails[user]))
        broken += state.peak >= -math.log(ALPHA)

    assert at_least(broken, runs) <= ALPHA


def test_a_matched_canary_of_conversations_is_stopped_within_150_of_its_requests():
    needed = []
    for seed in range(1_000, 1_025):
        random, state = np.random.default_rng(seed), ev.begin(ERRORS, 0.01, Margin(plus=0.005), once=False)
        canary = 0
        while state.peak < math.log(100) and canary < 600:
            treated = bool(random.random() < 0.5)
            canary += treated
            failed = float(random.random() < (0.1 if treated else 0.005))
            state = ev.see(state, Draw(treated, 0.5, 0.5, float(random.random()), True), failed)
        needed.append(canary)

    assert np.median(needed) <= 150


@pytest.mark.parametrize("metric", [ERRORS, MEASURED["task_success"]])
def test_what_a_unit_does_after_its_first_outcome_is_no_first_outcome(metric):
    state = ev.begin(metric, 0.01, Margin(plus=0.01), once=False)
    for number in range(40):
        state = ev.see(state, Draw(number % 2 == 0, 0.5, 0.5, 0.3, number < 2), 1.0)

    assert state.firsts is not None
    assert (state.firsts.treat_count, state.firsts.control_count) == (1.0, 1.0)


def test_first_outcomes_that_two_gateways_both_saw_are_not_evidence_twice():
    state = ev.begin(ERRORS, 0.01, Margin(), once=False)
    for number in range(200):
        treated = number % 2 == 0
        state = ev.see(state, Draw(treated, 0.5, 0.5, number / 200, True), float(treated and number % 5 == 0))

    both = ev.merged(state, state)
    assert state.firsts is not None
    assert both.firsts is not None
    assert both.firsts.log_e == pytest.approx(state.firsts.log_e)
    assert both.firsts.log_e > 1
