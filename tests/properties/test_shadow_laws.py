"""Laws of shadows: money never exceeds its cap, whatever happens when; intervals hold at every look; counts say it all."""

import random

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from policies.shadows.bounded import interval, log_wealth
from policies.shadows.evidence import learnt
from policies.shadows.purse import Purse, after_sudden_end, at_rest, reserve, settle
from policies.shadows.verdict import findings

CAP = 1_000

EVENTS = st.lists(
    st.one_of(
        st.tuples(st.just("reserve"), st.integers(0, 400)),
        st.tuples(st.just("settle"), st.integers(0, 400)),
        st.tuples(st.just("kill"), st.just(0)),
        st.tuples(st.just("rest"), st.just(0)),
        st.tuples(st.just("midnight"), st.just(0)),
    ),
    max_size=60,
)


@given(EVENTS)
def test_what_is_really_spent_in_a_day_never_exceeds_the_cap_however_often_the_process_is_killed(events):
    purse = disk = Purse()
    day, really, under_way = 0, {0: 0}, []
    for what, amount in events:
        if what == "reserve" and (found := reserve(purse, amount, CAP, day)) is not None:
            purse = found
            if purse.authorised > disk.authorised or purse.day != disk.day:
                disk = purse
            under_way.append((amount, day))
        elif what == "settle" and under_way:
            reserved, of_day = under_way.pop(0)
            spent = min(amount, reserved)
            really[of_day] = really.get(of_day, 0) + spent
            purse = settle(purse, reserved, spent)
        elif what == "kill":  # what is under way is charged whole, and nobody hears of it
            for reserved, of_day in under_way:
                really[of_day] = really.get(of_day, 0) + reserved
            under_way = []
            purse = after_sudden_end(disk)
        elif what == "rest" and not under_way:
            purse = disk = at_rest(purse)
        elif what == "midnight":
            day += 1
        assert purse.reserved == sum(amount for amount, _ in under_way)
        assert all(spent <= CAP for spent in really.values())


@given(st.lists(st.integers(-100, 100), max_size=40), st.floats(0.01, 0.3))
def test_an_interval_holds_the_average_and_hangs_on_no_order(values, alpha):
    counts: dict[int, int] = {}
    for value in values:
        counts[value] = counts.get(value, 0) + 1
    turned = dict(reversed(counts.items()))

    low, high = interval(counts, alpha, low=-1.0)

    assert -1 <= low <= high <= 1
    assert abs(log_wealth(counts, 0.1, -1.0, 1.0) - log_wealth(turned, 0.1, -1.0, 1.0)) < 1e-9
    if values:
        assert low <= sum(values) / len(values) / 100 + 1e-9
        assert high >= sum(values) / len(values) / 100 - 1e-9


def test_the_true_mean_is_left_out_at_any_look_no_more_often_than_alpha():
    draws, missed, runs = random.Random(5), 0, 200
    for _ in range(runs):
        rate, counts = draws.choice((0.02, 0.2, 0.5)), {0: 0, 100: 0}
        for _ in range(100):
            counts[100 * (draws.random() < rate)] += 1
            if log_wealth(counts, rate, 0.0, 1.0) > 2.995732:  # ln(1 / 5 %)
                missed += 1
                break

    assert missed <= 0.05 * runs + 3 * (runs * 0.05 * 0.95) ** 0.5


def pairs(draws, shadow, floor, count):
    evidence = {}
    for _ in range(count):
        evidence = learnt(
            evidence, {"exact": 100 * (draws.random() < shadow)}, {"exact": 100 * (draws.random() < floor)}
        )
    return evidence


def test_a_shadow_that_is_as_noisy_as_the_primary_is_not_said_to_differ_and_one_that_is_worse_is():
    draws = random.Random(9)

    alike = [findings(pairs(draws, 0.3, 0.3, 300), "p", "s")[0].says for _ in range(20)]
    worse = [findings(pairs(draws, 0.7, 0.3, 300), "p", "s")[0].says for _ in range(5)]

    assert alike.count("not_shown") >= 18
    assert worse == ["differs"] * 5


def test_three_points_more_are_seen_within_two_thousand_pairs_that_were_asked_twice():
    draws = random.Random(4)

    found = [findings(pairs(draws, 0.05, 0.02, 2_000), "p", "s")[0] for _ in range(5)]

    assert [one.says for one in found].count("differs") >= 4


def test_evidence_is_plain_data_that_comes_back_as_it_was():
    from policies.shadows.evidence import Rung

    evidence = pairs(random.Random(1), 0.5, 0.5, 9)

    assert msgspec.json.decode(msgspec.json.encode(evidence), type=dict[str, Rung]) == evidence
