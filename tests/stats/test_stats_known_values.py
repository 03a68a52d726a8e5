"""Published values of every formula that evidence is made of; numbers are facts, recomputed here."""

import math

import numpy as np
import pytest
from scipy import stats

from policies.experiments.asymptotic import half_width, half_width_above, half_width_of, tuning
from policies.experiments.mixture import bound, bound_above, log_e, log_e_above, rho_for
from policies.experiments.quantiles import log_e_of_quantiles, rate_interval
from policies.experiments.ratio import linearised
from policies.experiments.sample_ratio import Shares, log_bayes_factor, see


def test_the_normal_mixture_is_the_one_of_confseq():
    rho = rho_for(100, 0.05)

    assert rho == pytest.approx(12.60056, abs=1e-5)
    assert log_e(10, 100, rho) == pytest.approx(-0.6510052, abs=1e-7)
    assert bound(100, rho, 0.05) == pytest.approx(30.35209, abs=1e-5)


def test_the_one_sided_mixture_is_the_one_of_confseq():
    rho = rho_for(100, 0.1)

    assert log_e_above(10, 100, rho) == pytest.approx(-0.06502391, abs=1e-8)
    assert bound_above(100, rho, 0.05) == pytest.approx(27.66071, abs=1e-5)


def test_the_one_sided_mixture_holds_in_both_tails():
    """The far tail is reckoned by a series, which must meet the near one."""
    from policies.experiments.mixture import FAR, log_normal_cdf

    for x in (-60.0, FAR - 1e-9, FAR + 1e-9, -5.0, 0.0, 5.0):
        assert log_normal_cdf(x) == pytest.approx(stats.norm.logcdf(x), rel=1e-6)


def test_msprt_of_two_normal_streams_is_the_same_mixture():
    """n = 1000 pairs, d = .1, variance 1, tau^2 = .01 (1512.04922)."""
    value = math.exp(log_e(1000 * 0.1, 2 * 1000, 4 / 0.01))

    assert value == pytest.approx(3.278721628, rel=1e-9)
    assert 1 / value == pytest.approx(0.304997, abs=1e-6)


@pytest.mark.parametrize(("count", "width"), [(100, 0.1613334), (1000, 0.0488380)])
def test_the_asymptotic_sequence_has_its_published_width(count, width):
    assert half_width(count, 0.25, 0.2963410, 0.05) == pytest.approx(width, abs=1e-7)


def test_tuning_is_howards_approximation_near_the_optimum():
    from scipy.special import lambertw

    optimum = -lambertw(-(0.05**2) / math.e, -1).real - 1

    assert tuning(1, 0.05) ** 2 == pytest.approx(7.93615, abs=1e-5)
    assert optimum == pytest.approx(8.21197, abs=1e-5)
    best = half_width_of(5000, 0.5, math.sqrt(optimum / 5000), 0.05)
    assert best < half_width_of(5000, 0.5, tuning(5000, 0.05), 0.05) <= best * 1.001


def counts(events, count):
    rate = events / count
    return count, rate, rate * (1 - rate)


def sums(total, squares, count):
    return count, total / count, (squares - total * total / count) / (count - 1)


def lift(control, treat):
    """Value and standard error of one mean over another, less 1 (delta method)."""
    (n, mean, variance), (m, other, spread) = control, treat
    return other / mean - 1, math.sqrt(spread / (m * mean**2) + variance * other**2 / (n * mean**4))


def test_relative_lift_of_counts_has_growthbooks_interval():
    found, error = lift(counts(1396, 3000), counts(2422, 3461))
    half = half_width_of(6461, error, tuning(5000, 0.05), 0.05)

    assert found == pytest.approx(0.50386, abs=1e-5)
    assert (found - half, found + half) == pytest.approx((0.40098, 0.60675), abs=1e-5)


def test_relative_lift_of_amounts_has_growthbooks_intervals():
    found, error = lift(sums(1396.87, 52377.9767, 3000), sums(2422.7, 134698.29, 3461))
    half = half_width_of(6461, error, tuning(1000, 0.05), 0.05)
    above = half_width_above(6461, error, tuning(5000, 0.1), 0.05)

    assert found == pytest.approx(0.50336, abs=1e-5)
    assert (found - half, found + half) == pytest.approx((-0.55844, 1.56516), abs=1e-5)
    assert found - above == pytest.approx(-0.42356455, abs=1e-8)


@pytest.mark.parametrize(
    ("quantile", "shift", "p"), [(0.5, 70, 0.814704), (0.5, 85, 0.0838055), (0.5, 100, 0.0054947), (0.9, 55, 0.0340463)]
)
def test_two_quantiles_are_compared_as_in_confseq(quantile, shift, p):
    one = dict.fromkeys(range(1, 1001), 1)
    other = {value + shift: 1 for value in one}

    found = math.exp(-log_e_of_quantiles(one, other, quantile, 100, 0.05))

    assert found == pytest.approx(p, rel=1e-4)


@pytest.mark.parametrize(
    ("events", "count", "opt", "ends"),
    [(700, 1000, 100, (0.651629, 0.745949)), (15, 50, 50, (0.129556, 0.511896)), (0, 1, 100, (0.0, 1.0))],
)
def test_a_rate_has_the_confidence_sequence_of_confseq(events, count, opt, ends):
    assert rate_interval(events, count, opt, 0.05) == pytest.approx(ends, abs=2e-6)


def test_the_sequential_sample_ratio_is_the_one_of_ssrm():
    assert log_bayes_factor((2, 2, 1), (1, 1, 1), (0.4, 0.4, 0.2)) == pytest.approx(-1.1711189794548584, abs=1e-12)
    factor = math.exp(log_bayes_factor((2, 1, 7), (1000, 5000, 4000), (0.1, 0.5, 0.4)))
    assert factor == pytest.approx(1.0017496120131435, rel=1e-9)


def test_the_sample_ratio_of_kohavis_counts_is_off():
    factor = math.exp(-log_bayes_factor((821588, 815482), (5000, 5000), (0.5, 0.5)))

    assert factor == pytest.approx(1.5595e-4, rel=1e-4)
    assert stats.chisquare([821588, 815482]).pvalue == pytest.approx(1.8218e-6, rel=1e-4)


def test_units_one_by_one_come_to_the_closed_form():
    random, chances = np.random.default_rng(3), {"a": 0.2, "b": 0.5, "c": 0.3}
    shares = Shares()
    for name in random.choice(list(chances), 200, p=[0.3, 0.4, 0.3]):
        shares = see(shares, str(name), chances, certainty=50.0)

    seen = [shares.seen[name] for name in chances]
    closed = log_bayes_factor(seen, [50 * p for p in chances.values()], list(chances.values()))

    assert shares.log_e == pytest.approx(closed, abs=1e-9)


def test_a_linearised_ratio_has_the_delta_methods_variance():
    tops, bottoms = np.array([1.0, 2, 3, 4]), np.array([2.0, 2, 4, 4])
    at, mean = tops.sum() / bottoms.sum(), bottoms.mean()

    values = [linearised(top, bottom, at, mean) for top, bottom in zip(tops, bottoms, strict=True)]

    assert at == pytest.approx(0.8333333, abs=1e-7)
    assert np.var(values, ddof=1) / 4 == pytest.approx(0.0102880658, abs=1e-10)
