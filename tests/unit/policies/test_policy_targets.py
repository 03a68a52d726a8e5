"""Targets: what the mix comes to, and what is told when it cannot."""

import pytest

from policies.catalogue import Price
from policies.policy import Target
from policies.targets import Infeasible, Rung, Solved, relative_costs, solve, stand_in_prices

SMALL = Rung("small", 0.1, [0.1, 0.3, 0.5, 0.7, 0.9])
LARGE = Rung("large", 1.0, [1.0, 1.0, 1.0, 1.0, 1.0])


def test_a_cost_buys_the_most_gain_that_it_can() -> None:
    solved = solve(Target("cost", 46, "large"), [SMALL, LARGE])
    assert isinstance(solved, Solved)
    assert solved.expected.shares == {"small": 0.6, "large": 0.4}
    assert solved.expected.cost_percent == pytest.approx(46)
    assert solved.expected.quality_percent == pytest.approx(82)
    assert 0.9 / 0.7 < solved.loss < 0.9 / 0.5


def test_a_quality_is_reached_with_the_least_cost() -> None:
    solved = solve(Target("quality", 82, "large"), [SMALL, LARGE])
    assert isinstance(solved, Solved)
    assert solved.expected.shares == {"small": 0.6, "large": 0.4}


def test_everything_may_be_asked_for() -> None:
    all_large = solve(Target("cost", 100, "large"), [SMALL, LARGE])
    assert isinstance(all_large, Solved)
    assert all_large.expected.shares == {"small": 0.0, "large": 1.0}


def test_where_no_prompt_gains_the_cheapest_takes_all() -> None:
    solved = solve(Target("quality", 50, "large"), [SMALL, Rung("large", 1.0, SMALL.p_good)])
    assert isinstance(solved, Solved)
    assert solved.expected.shares == {"small": 1.0, "large": 0.0}
    assert solved.loss > 0


def test_the_middle_rung_is_used_where_it_lies_on_the_envelope() -> None:
    medium = Rung("medium", 0.3, [0.9, 0.95, 0.95, 0.9, 0.9])
    solved = solve(Target("cost", 30, "large"), [SMALL, medium, LARGE])
    assert isinstance(solved, Solved)
    assert solved.expected.shares["medium"] >= 0.6


@pytest.mark.parametrize(
    ("target", "words"),
    [
        (Target("cost", 5, "large"), "the cheapest mix already costs 10.0% of large (at 50.0% of its quality)"),
        (Target("cost", 5, "large"), "at least cost 10%"),
        (
            Target("quality", 101, "large"),
            "the best mix reaches 100.0% of the quality of large (at 100.0% of its cost)",
        ),
        (Target("quality", 101, "large"), "at most quality 100%"),
    ],
)
def test_out_of_reach_is_told_with_the_numbers(target: Target, words: str) -> None:
    told = solve(target, [SMALL, Rung("large", 1.0, [1.0] * 5)])
    assert isinstance(told, Infeasible)
    assert words in told.why


def test_an_empty_sample_solves_nothing() -> None:
    assert isinstance(solve(Target("cost", 40, "large"), [Rung("small", 0.1, []), Rung("large", 1.0, [])]), Infeasible)


def test_a_reference_without_any_quality_is_always_matched() -> None:
    solved = solve(Target("quality", 90, "large"), [SMALL, Rung("large", 1.0, [0.0] * 5)])
    assert isinstance(solved, Solved)
    assert solved.expected.quality_percent == 100.0


def test_a_free_reference_has_no_shares() -> None:
    assert relative_costs({"small": Price(1, 1, 1), "large": Price()}, "large") is None


def test_stand_in_prices_make_a_cost_a_share_of_requests() -> None:
    costs = relative_costs(stand_in_prices(["small", "medium", "large"]), "large")
    assert costs == {"small": 0.0, "medium": 0.5, "large": 1.0}
