"""What was drawn is counted as spent, and no line is blamed for it."""

import msgspec
import pytest
from deciding_world import LARGE, SMALL, choose, policy

from policies.decide import decide
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Route, Target
from policies.snapshot import Snapshot
from policies.steering.sight import Decided, sight

CHOICE = choose(SMALL, LARGE)
ROUTE = Route(name="default", choose=CHOICE, explore=0.5)


@pytest.mark.parametrize("target", [Target("cost", 40, "large"), Target("quality", 95, "large")])
def test_a_drawn_request_counts_with_what_it_spent_and_would_have_with_any_line(target: Target) -> None:
    rules, facts = policy(SMALL, LARGE, routes=[ROUTE]), Facts(prompt_tokens=500)
    estimate = Estimate(p_good={"small": 0.9, "large": 0.95})
    plain, drawn = (decide(rules, facts, estimate, Snapshot(replicas={}, draw=draw)) for draw in (0.1, 0.9))

    seen = [
        sight(rules, ROUTE, CHOICE, Decided(facts, estimate, decision), target) for decision in (plain, drawn)
    ]  # fmt: skip

    assert (plain.instead_of, drawn.instead_of) == ("", "small")
    assert seen[0] is not None
    assert seen[1] is not None
    assert seen[0].rises != ()
    assert seen[1].rises == ()
    assert seen[1].start == seen[1].spent > seen[0].spent
    assert msgspec.structs.replace(
        seen[1], start=0, spent=0, rises=(), doubt=0, doubt_of_chosen=0
    ) == msgspec.structs.replace(seen[0], start=0, spent=0, rises=(), doubt=0, doubt_of_chosen=0)
