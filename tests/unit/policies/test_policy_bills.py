"""Laws of targets on routes that escalate: what counts is the bill, with all that was given up."""

import pytest
from escalating_traffic import EscalatingGateway, Judge, real_share
from hypothesis import given, settings
from hypothesis import strategies as st
from steered_traffic import IDLE, requests, solved_for

from policies.decide import decide
from policies.policy import Target
from policies.steering.bill import beyond
from policies.steering.foretold import AT_LEAST
from policies.steering.sight import Decided, bill, sight
from policies.steering.steer import PULL, STEP, realised, steer
from policies.steering.window import Bill, Rise, Sighting

COST = Target("cost", 45, "large")
USUAL, DOUBTFUL, LONGER = Judge(), Judge(0.5, 0.3), Judge(0.0, 0.0, stretch=6.0)


@pytest.mark.parametrize(("judge", "harder"), [(USUAL, 0.9), (USUAL, -2.0), (DOUBTFUL, 0.9), (LONGER, -2.0)])
def test_a_cost_share_holds_in_money_through_a_shift_though_answers_are_given_up(judge: Judge, harder: float) -> None:
    """Given up and asked for again, or longer where they are hard, answers cost more than was reckoned."""
    gateway = EscalatingGateway(COST, judge)
    gateway.serve(requests(1, 1_000))
    before = gateway.serve(requests(2, 1_000))
    first = gateway.serve(requests(3, 1_000, harder=harder))
    later = gateway.serve(requests(4, 1_500, harder=harder))

    assert all(abs(real_share(part) - 45) <= 2 for part in (before, later))
    assert abs(real_share(first) - 45) <= 2, "the first thousand after the shift"


@pytest.mark.parametrize("judge", [USUAL, DOUBTFUL, LONGER])
def test_without_bills_it_is_missed(judge: Judge) -> None:
    """So that the law above is seen to depend on them."""
    blind = EscalatingGateway(COST, judge, billed=False)
    blind.serve(requests(1, 500))
    assert real_share(blind.serve(requests(2, 1_000))) - 45 > 8


def test_a_lag_between_decision_and_bill_delays_what_is_learnt_and_no_more() -> None:
    gateway = EscalatingGateway(COST, Judge(), lag=400)
    gateway.serve(requests(5, 1_500))
    assert abs(real_share(gateway.serve(requests(6, 1_500))) - 45) <= 2


def test_a_bill_has_what_the_sighting_of_the_same_decision_has() -> None:
    rules = solved_for(COST)
    [route] = rules.routes
    assert route.choose is not None
    for facts, estimate in requests(8, 200):
        decided = Decided(facts, estimate, decide(rules, facts, estimate, IDLE))
        seen = sight(rules, route, route.choose, decided, COST)
        billed = bill(rules, route, route.choose, decided, spent=7.0, base=9.0)
        assert seen is not None
        doubts = seen.doubt_of_chosen, seen.doubt_of_lowest
        assert billed == Bill(facts.tenant, 9.0, 7.0, seen.base, seen.spent, *doubts)


def test_what_is_told_is_what_is_billed() -> None:
    gateway = EscalatingGateway(COST, Judge())
    gateway.serve(requests(7, 1_500))
    told = realised(COST, gateway.helm.window, gateway.helm.bills)
    assert abs(told - real_share(gateway.paid[-1_000:])) <= 2.5


def seen(tenant: str, count: int, spent: float) -> tuple[Sighting, ...]:
    return tuple([Sighting(tenant, 100.0, 10.0, (Rise(0.1 + i / count, 90.0),), spent) for i in range(count)])


def test_what_one_tenant_escalates_moves_the_others_by_one_bounded_pull_at_most() -> None:
    window = (*seen("acme", 300, 40.0), *seen("flood", 500, 40.0))
    flood = tuple([Bill("flood", 100.0, 120.0, 100.0, 10.0)] * 500)
    alone = steer(Target("cost", 40, "large"), window, 0.4)
    flooded = steer(Target("cost", 40, "large"), window, 0.4, flood)
    assert alone / (PULL * STEP) * 0.999 <= flooded <= alone


AMOUNT = st.floats(1, 1e6)
BILLS = st.builds(Bill, st.sampled_from("ab"), AMOUNT, AMOUNT, AMOUNT, AMOUNT)


@settings(max_examples=25, deadline=None)
@given(st.lists(BILLS, max_size=300), st.floats(0.01, 100))
def test_a_line_moves_by_one_step_at_most_whatever_was_billed(bills: list[Bill], line: float) -> None:
    window = seen("acme", 200, 40.0)
    assert line / STEP * 0.999 <= steer(Target("cost", 40, "large"), window, line, tuple(bills)) <= line * STEP * 1.001


@settings(max_examples=25, deadline=None)
@given(st.lists(BILLS, min_size=AT_LEAST, max_size=200), AMOUNT)
def test_the_currency_of_bills_does_not_matter_and_as_reckoned_is_nothing_beyond(
    bills: list[Bill], factor: float
) -> None:
    other = [Bill(b.tenant, b.base * factor, b.spent * factor, b.reckoned_base, b.reckoned) for b in bills]
    assert beyond(other) == pytest.approx(beyond(bills), rel=1e-6, abs=1e-3)
    assert beyond([Bill(b.tenant, b.base, b.spent, b.base, b.spent) for b in bills]) == 0.0


def test_a_quality_is_not_billed_and_few_bills_say_nothing() -> None:
    window, dear = seen("acme", 200, 40.0), tuple([Bill("acme", 100.0, 300.0, 100.0, 10.0)] * 200)
    quality = Target("quality", 40, "large")
    assert steer(quality, window, 0.4, dear) == steer(quality, window, 0.4)
    cost = Target("cost", 40, "large")
    assert steer(cost, window, 0.4, dear[: AT_LEAST - 1]) == steer(cost, window, 0.4)
    assert steer(cost, window, 0.4, dear) < steer(cost, window, 0.4)
