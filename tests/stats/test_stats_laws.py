"""Laws of evidence: stakes that chance cannot grow, scores that drift and ramps cannot bias, sums that may be added."""

import itertools
import math

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.experiments import evidence as ev
from policies.experiments import failing, two_by_two
from policies.experiments import scores as sc
from policies.experiments.baseline import Baseline, expected, learn
from policies.experiments.betting import Bets, bet
from policies.experiments.bins import bin_of, counted, middle, quantile_interval, quantile_of
from policies.experiments.failing import Failing
from policies.experiments.lift import lift, lift_interval
from policies.experiments.plan import Margin, Metric
from policies.experiments.scores import Draw, Scores
from policies.experiments.two_by_two import Rates, nearest

ERRORS = Metric("error_rate", "error", "binary", "down")
COST = Metric("cost_per_request", "microusd", "mean", "down")
TTFT = Metric("ttft.p95", "ttft_ms", "quantile", "down", 0.95)
SUCCESS = Metric("task_success", "good", "binary", "up")
PER_TOKEN = Metric("cost_per_success", "microusd", "ratio", "down")

rates = st.floats(0.01, 0.99)
chances = st.floats(0.02, 0.98)


@given(rates, rates, rates, chances)
def test_a_factor_of_the_two_by_two_test_has_mean_one_at_most_under_equal_rates(treat, control, rate, chance):
    """Whatever the past says, and whatever the common rate is."""
    known = Rates(treat * 50, 50.0, control * 50, 50.0)
    mean = 0.0
    for treated, event in itertools.product((True, False), (True, False)):
        grown = two_by_two.see(known, event, treated=treated, chance=chance, margin=Margin())
        weight = (chance if treated else 1 - chance) * (rate if event else 1 - rate)
        mean += weight * math.exp(grown.log_e)

    assert mean <= 1 + 1e-9


@given(rates, rates, rates, chances, st.builds(Margin, st.floats(1.0, 2.0), st.floats(0.0, 0.2)), st.floats(0.0, 1.0))
def test_a_factor_has_mean_one_at_most_within_the_margin(  # noqa: PLR0917  drawn by place
    treat, control, rate, chance, margin, part
):
    within = part * min(0.999, margin.times * rate + margin.plus)
    known = Rates(treat * 50, 50.0, control * 50, 50.0)
    mean = 0.0
    for treated, event in itertools.product((True, False), (True, False)):
        grown = two_by_two.see(known, event, treated=treated, chance=chance, margin=margin)
        own = within if treated else rate
        weight = (chance if treated else 1 - chance) * (own if event else 1 - own)
        mean += weight * math.exp(grown.log_e)

    assert mean <= 1 + 1e-6


@given(rates, rates, chances)
def test_the_nearest_pair_is_on_the_margin_and_nothing_on_it_is_nearer(treat, control, chance):
    margin = Margin(1.2, 0.01)
    found = nearest(treat, control, chance, margin)
    if treat <= margin.times * control + margin.plus:
        assert found == (treat, control)
        return

    def distance(at):
        pairs = ((chance, treat, margin.times * at + margin.plus), (1 - chance, control, at))
        return sum(w * (a * math.log(a / b) + (1 - a) * math.log((1 - a) / (1 - b))) for w, a, b in pairs)

    assert found[0] == pytest.approx(margin.times * found[1] + margin.plus)
    for step in (-1e-3, 1e-3):
        if found[1] + step > 0 and margin.times * (found[1] + step) + margin.plus < 1:
            assert distance(found[1]) <= distance(found[1] + step) + 1e-12


@given(st.lists(st.floats(0, 1), max_size=30), st.floats(0.05, 0.95), st.floats(0.05, 0.95))
def test_a_bet_has_mean_one_on_any_values_of_the_null_mean(past, mean, spread):
    bets = Bets(mean=mean)
    for value in past:
        bets = bet(bets, value)
    low, high = mean - spread * mean, mean + spread * (1 - mean)
    weight = (high - mean) / (high - low)

    grown = weight * math.exp(bet(bets, low).log_e) + (1 - weight) * math.exp(bet(bets, high).log_e)

    assert grown == pytest.approx(math.exp(bets.log_e), rel=1e-9)


@given(st.lists(st.floats(-1e3, 1e3), min_size=1, max_size=12), st.floats(0.05, 0.95), st.floats(-0.3, 0.3))
def test_scores_are_exact_whoever_was_assigned_what(outcomes, chance, step):
    """Over all assignments that could have been: the mean of exp(l S - l^2/2 V) is 1 at most where variants do not differ."""
    known = Scores()
    whole = max(map(abs, outcomes)) or 1.0
    ends = [(known, 1.0)]
    for outcome in outcomes[:8]:
        ends = [
            (sc.see(state, Draw(treated, chance, 1 - chance), outcome / whole, (), 0.05), weight * p)
            for state, weight in ends
            for treated, p in ((True, chance), (False, 1 - chance))
        ]
    grown = sum(w * math.exp(step * state.total - step * step / 2 * state.variance) for state, w in ends)

    assert grown <= 1 + 1e-9


def test_a_ramp_while_outcomes_drift_does_not_look_like_an_effect():
    """Plain means differ by a lot then; scores and inverse-propensity means do not."""
    random = np.random.default_rng(1)
    found, plain = [], []
    for _ in range(40):
        state = Scores()
        for i in range(1_000):
            chance = 0.1 if i < 500 else 0.5
            treated = random.random() < chance
            outcome = float(random.normal(0.0 if i < 500 else 1.0))
            state = sc.see(state, Draw(bool(treated), chance, 1 - chance), outcome, (), 0.05)
        found.append(state.effect)
        plain.append(state.treat.total / state.treat.count - state.control.total / state.control.count)

    assert np.mean(plain) > 0.3
    assert abs(np.mean(found)) < 4 * np.std(found) / math.sqrt(40)
    assert abs(np.mean(found)) < 0.06


def test_a_covariate_takes_away_what_it_foretells():
    """CUPED: the variance falls by the squared correlation, here .8; the effect stays."""
    random = np.random.default_rng(2)
    plain, adjusted = Scores(), Scores()
    for _ in range(6_000):
        x = float(random.normal())
        treated = bool(random.random() < 0.5)
        outcome = 2 * x + float(random.normal()) + 0.3 * treated
        plain = sc.see(plain, Draw(treated, 0.5, 0.5), outcome, (), 0.05)
        adjusted = sc.see(adjusted, Draw(treated, 0.5, 0.5), outcome, (x,), 0.05)

    assert adjusted.variance / plain.variance == pytest.approx(0.2, abs=0.03)
    assert adjusted.effect == pytest.approx(0.3, abs=0.15)
    assert adjusted.log_e > plain.log_e


def test_the_slope_is_the_one_of_cuped():
    """x = 0..9, y = 3 + 2x + (1, -1, ...): theta 1.93939394, variance 35.5556 to 1.0774411."""
    xs = np.arange(10.0)
    ys = 3 + 2 * xs + np.tile([1.0, -1.0], 5)
    line = Baseline()
    for x, y in zip(xs, ys, strict=True):
        line = learn(line, float(y), (float(x),))
    theta = line.together[0] / line.spread[0][0]

    assert theta == pytest.approx(1.93939394)
    assert np.var(ys, ddof=1) == pytest.approx(35.5556, abs=1e-4)
    assert np.var(ys - theta * (xs - xs.mean()), ddof=1) == pytest.approx(1.0774411)


@given(st.lists(st.tuples(st.floats(-9, 9), st.floats(-9, 9), st.floats(-9, 9)), min_size=5, max_size=40))
def test_the_running_regression_is_the_one_of_numpy(rows):
    line = Baseline()
    for y, *xs in rows:
        line = learn(line, y, tuple(xs))
    matrix = np.array([row[1:] for row in rows])
    ys = np.array([row[0] for row in rows])

    assert line.mean == pytest.approx(ys.mean(), abs=1e-9)
    assert np.allclose(line.spread, np.cov(matrix.T, bias=True), atol=1e-9)
    assert math.isfinite(expected(line, (1.0, 2.0)))


def grown(metric, margin, seeds, *, shift=1.0, once=True, count=1_500, chance=0.5):
    """Evidence of outcomes where the treatment's amounts are `shift` times larger."""
    random, state = np.random.default_rng(seeds), ev.begin(metric, 0.05, margin, once=once)
    for number in range(count):
        treated = bool(random.random() < chance)
        amount = float(random.lognormal(5, 0.4)) * (shift if treated else 1.0)
        value: ev.Value = amount
        if metric.kind == "binary":
            value = float(random.random() < 0.1 * (shift if treated else 1.0))
        if metric.kind == "ratio":
            bottom = float(random.poisson(1.0))
            value = (amount * bottom, bottom)
        bucket = None if once else (number % 300) / 300
        state = ev.see(state, Draw(treated, chance, 1 - chance, bucket), value)
    return state


@pytest.mark.parametrize("metric", [ERRORS, COST, TTFT, PER_TOKEN])
@pytest.mark.parametrize("chance", [0.5, 0.2])
def test_what_is_worse_than_its_margin_is_found_and_what_is_within_it_is_not(metric, chance):
    margin = Margin(times=1.2)

    assert grown(metric, margin, 5, shift=3.0, chance=chance).log_e > math.log(20)
    assert grown(metric, margin, 5, shift=1.1, chance=chance).peak < math.log(20)


def test_less_of_what_should_be_more_is_worse():
    state = ev.begin(SUCCESS, 0.01, Margin(plus=0.02), once=True)
    random = np.random.default_rng(8)
    for _ in range(1_000):
        treated = bool(random.random() < 0.5)
        state = ev.see(state, Draw(treated, 0.5, 0.5), float(random.random() < (0.7 if treated else 0.95)))

    assert state.log_e > math.log(100)


@pytest.mark.parametrize("metric", [ERRORS, COST, TTFT, PER_TOKEN])
@pytest.mark.parametrize("margin", [None, Margin(1.1)])
def test_two_gateways_know_together_what_one_would_have_known(metric, margin):
    one, other = grown(metric, margin, 1), grown(metric, margin, 2)
    both = ev.merged(one, other)

    assert both.scores.total == pytest.approx(one.scores.total + other.scores.total)
    assert both.scores.count == 3_000
    assert both.scores.variance == pytest.approx(one.scores.variance + other.scores.variance)
    assert ev.merged(other, one).scores.total == pytest.approx(both.scores.total)
    again = [grown(metric, margin, seed, once=False, count=200) for seed in (1, 2)]
    if again[0].failing is not None:
        least, most = sorted(part.failing.log_e for part in again)
        assert least - 1e-9 <= ev.merged(*again).failing.log_e <= most + 1e-9
    if one.rates is not None:
        assert both.rates.bets == pytest.approx([a + b for a, b in zip(one.rates.bets, other.rates.bets, strict=True)])


@pytest.mark.parametrize("metric", [ERRORS, COST, TTFT, PER_TOKEN])
@pytest.mark.parametrize("once", [True, False])
def test_evidence_survives_being_written_and_read(metric, once):
    state = grown(metric, Margin(1.1), 3, once=once, count=300)

    again = msgspec.json.decode(msgspec.json.encode(state), type=ev.Evidence)

    assert again == state
    draw = Draw(True, 0.5, 0.5, None if once else 0.25)
    value = (3.0, 1.0) if metric.kind == "ratio" else 1.0
    assert ev.see(again, draw, value) == ev.see(state, draw, value)


def test_evidence_takes_the_same_room_however_much_was_seen():
    sizes = [len(msgspec.json.encode(grown(TTFT, None, 4, once=False, count=count))) for count in (2_000, 6_000)]

    assert sizes[1] < sizes[0] * 1.2


def test_units_that_come_again_are_counted_as_what_they_are():
    """Twenty requests of each of 150 users who fail, or not, always: by requests alone nearly every run stops falsely."""
    random = np.random.default_rng(6)
    stops = {True: 0, False: 0}
    for _ in range(16):
        arms = random.random(150) < 0.5
        fails = random.random(150) < 0.3
        states = {clustered: Scores() for clustered in stops}
        over = dict.fromkeys(stops, False)
        buckets = random.random(150)
        for number, user in enumerate(random.integers(0, 150, 1_600)):
            for clustered in stops:
                draw = Draw(bool(arms[user]), 0.5, 0.5, float(buckets[user]) if clustered else None)
                states[clustered] = sc.see(states[clustered], draw, float(fails[user]), (), 0.05)
                over[clustered] |= number % 20 == 0 and states[clustered].log_e > math.log(20)
        for clustered, stopped in over.items():
            stops[clustered] += stopped

    assert stops[False] >= 6
    assert stops[True] <= 1


def test_intervals_hold_the_truth_at_every_look():
    random, missed = np.random.default_rng(7), 0
    for _ in range(20):
        state, out = Scores(), False
        for i in range(800):
            treated = bool(random.random() < 0.3)
            outcome = float(random.normal(5.0 + treated))
            state = sc.see(state, Draw(treated, 0.3, 0.7), outcome, (), 0.05)
            if i % 20 == 0 and state.rho:
                low, high = sc.interval(state, 0.05) or (-math.inf, math.inf)
                ratios = lift_interval(state, 0.05)
                out |= not low <= 1.0 <= high or (ratios is not None and not ratios[0] <= 0.2 <= ratios[1])
        missed += out

    assert missed <= 3


def test_a_lift_lies_in_its_interval_which_is_about_that_of_the_delta_method():
    state = grown(COST, None, 9, shift=1.2, count=4_000).scores
    found, ends = lift(state), lift_interval(state, 0.05)

    assert found is not None
    assert ends is not None
    assert ends[0] < found < ends[1]
    assert found == pytest.approx(0.2, abs=0.05)
    assert ends[1] - ends[0] == pytest.approx(0.098, abs=0.03)


def test_nothing_is_said_before_outcomes_show_their_size():
    state = Scores()
    for i in range(1_000):
        state = sc.see(state, Draw(i % 2 == 0, 0.5, 0.5), 0.25, (), 0.05)

    assert (state.log_e, state.rho, sc.interval(state, 0.05)) == (0.0, 0.0, None)


def test_bins_give_quantiles_within_their_width():
    random = np.random.default_rng(3)
    amounts = random.lognormal(6, 1, 4_000)
    found = {}
    for amount in amounts:
        found = counted(found, float(amount))

    for quantile in (0.5, 0.95, 0.99):
        assert quantile_of(found, quantile) == pytest.approx(np.quantile(amounts, quantile), rel=0.03)
        ends = quantile_interval(found, quantile, 0.05)
        assert ends is not None
        assert ends[0] < np.exp(6 + {0.5: 0.0, 0.95: 1.645, 0.99: 2.326}[quantile]) < ends[1]
    assert middle(bin_of(100.0)) == pytest.approx(100.0, rel=0.011)


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 0.999)), max_size=12), chances, st.floats(1.0, 2.0))
def test_the_arm_of_a_newly_failing_unit_has_a_factor_of_mean_one_at_most_at_its_margin(past, chance, times):
    state, margin = Failing(), Margin(times)
    for treated, unit in past:
        state = failing.see(state, True, treated=treated, chance=chance, unit=unit, margin=margin)
    null = failing.null_chance(state, chance, margin)
    fresh = next(slot for slot in range(failing.SLOTS) if not failing.is_known(state.slots, slot)) / failing.SLOTS
    for below in (null, null / 2):
        mean = 0.0
        for treated, weight in ((True, below), (False, 1 - below)):
            after = failing.see(state, True, treated=treated, chance=chance, unit=fresh, margin=margin)
            mean += weight * math.exp(after.log_e - state.log_e)
        assert mean <= 1 + 1e-9


def test_a_unit_that_fails_again_and_again_counts_once():
    state = Failing()
    for _ in range(50):
        state = failing.see(state, True, treated=True, chance=0.05, unit=0.3, margin=Margin())

    assert (state.treat, state.control) == (1.0, 0.0)
    assert state.log_e < math.log(20)


@pytest.mark.parametrize(("rate", "stops"), [(0.1, True), (0.005, False)])
def test_a_canary_of_conversations_that_fail_is_stopped_and_a_storm_of_retries_stops_nobody(rate, stops):
    """Who fails comes again ten times."""
    found = []
    for seed in range(6):
        random, state = np.random.default_rng(seed), ev.begin(ERRORS, 0.01, Margin(plus=0.005), once=False)
        canary = 0
        while canary < 150 and state.peak < math.log(100):
            treated, unit = bool(random.random() < 0.05), float(random.random())
            fails = bool(random.random() < (rate if treated else 0.005))
            for _ in range(10 if fails and not stops else 1):
                canary += treated
                state = ev.see(state, Draw(treated, 0.05, 0.95, unit), float(fails))
        found.append(state.peak >= math.log(100))

    assert np.mean(found) > 0.5 if stops else not any(found)
