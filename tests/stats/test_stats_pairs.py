"""Pairs of a request's answer and a rollout's change: a guardrail that holds falsely no more often than it may, and soon where
it should."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.experiments.simulate import at_least
from policies.experiments import paired, trial, verdict
from policies.experiments.metrics import metric_of
from policies.experiments.paired import Paired
from policies.experiments.plan import CANARY, CONTROL, Experiment, Guardrail, Margin, Step, Variant

ALPHA = 0.05


def rail(metric, margin, alpha=ALPHA):
    return Guardrail(name=metric, metric=metric_of(metric), margin=margin, alpha=alpha)


ERRORS = rail("error_rate", Margin(plus=0.005))
TAIL = rail("ttft.p95", Margin(1.2))
COST = rail("cost_per_request", Margin(1.15))

ROLLOUT = Experiment(
    name="next",
    unit="user",
    layer="l",
    salt="",
    variants=(Variant(CONTROL, 1.0), Variant(CANARY, 1.0, "s")),
    routes=frozenset({"default"}),
    watch=(ERRORS, TAIL, COST, rail("regenerate_rate", Margin(plus=0.01))),
    steps=(Step(shadow=0.05, pairs=500), Step(0.05, samples=1)),
)


@given(
    st.lists(st.tuples(st.booleans(), st.booleans()), max_size=15),
    st.floats(0.0, 1.0),
    st.floats(0.0, 1.0),
    st.builds(Margin, st.floats(1.0, 2.0), st.floats(0.0, 0.2)),
)
def test_a_pair_of_events_has_a_factor_of_mean_one_at_most_within_the_margin(past, control, together, margin):
    """However the two hang together, which nothing is assumed of."""
    guard, state = rail("error_rate", margin), Paired()
    for change, before in past:
        state = paired.compare(state, guard, float(change), float(before))
    change = min(1.0, margin.times * control + margin.plus)
    both = max(0.0, change + control - 1) + together * (min(change, control) - max(0.0, change + control - 1))
    chances = {(1, 1): both, (1, 0): change - both, (0, 1): control - both, (0, 0): 1 - change - control + both}
    mean = sum(
        chance * math.exp(paired.compare(state, guard, float(one), float(other)).log_e - state.log_e)
        for (one, other), chance in chances.items()
    )

    assert mean <= 1 + 1e-9


def drawn(kind, random, worse):
    """A request's pair; at `worse` 1 the change is as bad as the margin lets it be."""
    hard = random.lognormal(0, 0.7)
    if kind is ERRORS:
        return float(random.random() < 0.02 + 0.005 * worse), float(random.random() < 0.02)
    times = 1 + (kind.margin.times - 1) * worse
    return times * 100 * hard * random.lognormal(0, 0.5), 100 * hard * random.lognormal(0, 0.5)


@pytest.mark.parametrize("kind", [ERRORS, TAIL, COST], ids=lambda kind: kind.name)
def test_at_the_margin_a_shadow_is_held_no_more_often_than_it_may_at_every_look(kind):
    runs, held = 150, 0
    for seed in range(runs):
        random, state = np.random.default_rng((seed, 3)), Paired()
        for _ in range(300):
            state = paired.compare(state, kind, *drawn(kind, random, 1.0))
        held += state.peak >= -math.log(ALPHA)

    assert at_least(held, runs) <= ALPHA


@pytest.mark.parametrize(("kind", "worse", "most"), [(ERRORS, 20.0, 150), (TAIL, 5.0, 500), (COST, 5.0, 250)])
def test_what_is_clearly_worse_is_held_before_anybody_has_it(kind, worse, most):
    """Errors of 2 to 12 %, tails and costs of twice and 1.75 times."""
    needed = []
    for seed in range(15):
        random, state = np.random.default_rng((seed, 4)), Paired()
        while state.peak < -math.log(ALPHA) and state.count < 2_000:
            state = paired.compare(state, kind, *drawn(kind, random, worse))
        needed.append(state.count)

    assert np.median(needed) <= most


def test_two_gateways_pairs_say_together_what_they_would_have_said_to_one():
    one, other = trial.begin(ROLLOUT), trial.begin(ROLLOUT)
    random = np.random.default_rng(1)
    for number in range(400):
        values = [{"error": float(random.random() < rate), "microusd": 10.0, "ttft_ms": 5.0} for rate in (0.2, 0.01)]
        if number % 2:
            one = trial.compared(one, ROLLOUT, *values)
        else:
            other = trial.compared(other, ROLLOUT, *values)
    both = trial.merged(one, other)

    assert both.pairs == 400
    assert set(both.paired) == {"canary/error_rate", "canary/ttft.p95", "canary/cost_per_request"}
    errors = both.paired["canary/error_rate"]
    bets = [part.paired["canary/error_rate"].bets for part in (one, other)]
    assert errors.bets == pytest.approx([a + b for a, b in zip(*bets, strict=True)])
    found = verdict.verdict(ROLLOUT, both, 10.0)
    assert (found.outcome, [breach.act for breach in found.breaches]) == ("breach", ["hold"])
    assert "the shadow of canary breaks the guardrail error_rate" in found.words
    assert trial.merged(trial.begin(ROLLOUT), one).paired == one.paired
