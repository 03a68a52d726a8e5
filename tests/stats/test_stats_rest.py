"""Who was left out of a matched rollout has control all the same: events of theirs count, exactly, and nothing else does."""

import itertools
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.experiments.simulate import at_least
from policies.experiments import evidence as ev
from policies.experiments import failing, trial
from policies.experiments.failing import Failing
from policies.experiments.metrics import metric_of
from policies.experiments.plan import CANARY, CONTROL, REST, Experiment, Guardrail, Margin, Step, Variant
from policies.experiments.scores import Draw
from policies.experiments.trial import Exposure

MARGIN, ALPHA = Margin(plus=0.005), 0.01


def rail(metric, margin=MARGIN):
    found = metric_of(metric)
    assert found is not None
    return Guardrail(name=metric, metric=found, margin=margin, alpha=ALPHA)


ROLLOUT = Experiment(
    name="next",
    unit="request",
    layer="l",
    salt="",
    variants=(Variant(CONTROL, 1.0), Variant(CANARY, 1.0, "s")),
    routes=frozenset({"default"}),
    ends=0.0,
    watch=(rail("error_rate"), rail("cost_per_request", Margin(1.15)), rail("ttft.p95", Margin(1.2))),
    steps=(Step(share=0.05, samples=1),),
)


def exposure(variant, share):
    return Exposure("next", variant, "u", {CONTROL: share, CANARY: share, REST: 1 - 2 * share})


def values(failed, amount=1.0):
    return {"error": float(failed), "microusd": amount, "ttft_ms": amount}


@given(
    st.lists(st.tuples(st.sampled_from((CONTROL, CANARY, REST)), st.booleans()), max_size=20),
    st.floats(0.01, 0.4),
    st.floats(0.001, 0.6),
)
def test_one_more_request_of_anybody_has_a_factor_of_mean_one_at_most_at_the_margin(past, share, rate):
    """Whatever came before, at whatever share, and whatever control's rate is."""
    state = trial.begin(ROLLOUT)
    for variant, failed in past:
        state = trial.measured(state, ROLLOUT, exposure(variant, share), values(failed))
    before = state.watched["canary/error_rate"].log_e
    mean = 0.0
    for (variant, chance), failed in itertools.product(
        ((CANARY, share), (CONTROL, share), (REST, 1 - 2 * share)), (True, False)
    ):
        own = rate + MARGIN.plus if variant == CANARY else rate
        after = trial.measured(state, ROLLOUT, exposure(variant, share), values(failed))
        weight = chance * (own if failed else 1 - own)
        mean += weight * math.exp(after.watched["canary/error_rate"].log_e - before)

    assert mean <= 1 + 1e-6


def test_who_was_left_out_is_in_no_mean_and_no_sample_ratio():
    state = trial.begin(ROLLOUT)
    for number in range(300):
        one = exposure((CANARY, CONTROL, REST, REST)[number % 4], 0.25)
        state = trial.exposed(state, one, fresh=True)
        state = trial.measured(state, ROLLOUT, one, values(False, 1.0 + number % 7))

    assert state.requests == {CANARY: 75, CONTROL: 75, REST: 150}
    assert state.units.seen == {CANARY: 75, CONTROL: 75}
    cost, late = state.watched["canary/cost_per_request"], state.watched["canary/ttft.p95"]
    assert (cost.scores.count, late.scores.count) == (150, 150)
    assert late.rates is not None
    assert (late.rates.treat_count, late.rates.control_count) == (75, 225)
    assert {side.count for side in (cost.scores.treat, cost.scores.control)} == {75}


def test_what_is_told_later_is_told_of_who_was_drawn_so_nobody_else_is_compared():
    """The rest's would be missing, and the chance of the canary among all would be that of nobody."""
    again = rail("regenerate_rate", Margin(plus=0.01))
    watching = msgspec.structs.replace(ROLLOUT, watch=(again, ROLLOUT.watch[0]))
    state = trial.begin(watching)
    for number in range(60):
        one = exposure((CANARY, CONTROL)[number % 2], 0.05)
        state = trial.measured(state, watching, one, {"regenerated": float(number % 7 == 0), "error": 0.0})
    draw = next(trial.draws(watching, exposure(CANARY, 0.05)))[1]

    assert (draw.chance, trial.beside_drawn(draw).chance) == (0.05, 0.5)
    alone = ev.begin(again.metric, ALPHA, again.margin, once=True)
    for number in range(60):
        alone = ev.see(alone, Draw(number % 2 == 0, 0.5, 0.5), float(number % 7 == 0))
    assert state.watched["canary/regenerate_rate"].rates == alone.rates


def test_a_ramp_does_not_change_what_scores_weigh():
    """Drawn and drawn beside are alike likely at each share, so a score is as large at one as at the other."""
    small, large = (next(trial.draws(ROLLOUT, exposure(CANARY, share)))[1] for share in (0.01, 0.25))

    assert (small.treat, small.control) == (large.treat, large.control) == (0.5, 0.5)
    assert (small.chance, large.chance) == (0.01, 0.25)


def test_a_rare_error_shows_within_the_goal_though_control_is_only_matched():
    """.5 to 3 % with a margin of .5 pp: 600 requests of the canary by the goal; beside the sample alone it is some 700."""
    needed = []
    for seed in range(11):
        random, state = np.random.default_rng(seed), ev.begin(ROLLOUT.watch[0].metric, ALPHA, MARGIN, once=True)
        canary, share = 0, 0.1
        while state.peak < math.log(100) and canary < 1_500:
            treated = bool(random.random() < share)
            canary += treated
            fails = float(random.random() < (0.03 if treated else 0.005))
            state = ev.see(state, Draw(treated, 0.5, 0.5, among=share, is_drawn=treated), fails)
        needed.append(canary)

    assert np.median(needed) <= 600


@pytest.mark.parametrize(("combine", "holds"), [("mean", True), ("product", False)])
def test_units_that_two_gateways_see_fail_are_no_evidence_twice(combine, holds):
    """Each unit that fails fails at both, as clients that try again through a balancer do; nothing differs between the arms."""
    alpha, runs, broken = 0.05, 250, 0
    for seed in range(runs):
        random, parts, worst = np.random.default_rng(seed), [Failing(), Failing()], -math.inf
        for place, arm in zip(random.random(60), random.random(60) < 0.5, strict=True):
            parts = [
                failing.see(part, True, treated=bool(arm), chance=0.5, unit=float(place), margin=Margin())
                for part in parts
            ]
            product = sum(part.log_e for part in parts)
            worst = max(worst, failing.merged(*parts).log_e if combine == "mean" else product)
        broken += worst >= -math.log(alpha)

    assert (at_least(broken, runs) <= alpha) == holds
