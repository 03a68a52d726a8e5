"""A decision as rows: every model is in them, in the order in which it would be asked."""

from deciding_world import LARGE, MEDIUM, SMALL, policy

from policies.decide import decide
from policies.estimates import Estimate
from policies.explain import explain
from policies.facts import Facts
from policies.policy import Resilience
from policies.snapshot import Snapshot

EASY = Estimate(p_good={"small": 0.95, "medium": 0.96, "large": 0.97})


def test_rows_stand_in_the_order_of_asking_with_their_cost() -> None:
    built = policy(SMALL, MEDIUM, LARGE, resilience=Resilience(attempts=2))
    rows = explain(decide(built, Facts(prompt_tokens=100), EASY, Snapshot(replicas={})))
    assert [(row.model, row.standing) for row in rows] == [
        ("small", "chosen"),
        ("medium", "fallback 1"),
        ("large", "not asked"),
    ]
    assert rows[0].microusd == sum(term.microusd for term in rows[0].terms)


def test_dropped_models_tell_why() -> None:
    decision = decide(policy(), Facts(requested="small"), EASY, Snapshot(replicas={}))
    assert [(row.model, row.standing, row.why, row.microusd) for row in explain(decision)[1:]] == [
        ("large", "dropped: route", "not in route pinned", None)
    ]


def test_a_reject_has_only_dropped_rows() -> None:
    rows = explain(decide(policy(), Facts(requested="nobody"), EASY, Snapshot(replicas={})))
    assert {row.standing for row in rows} == {"dropped: route"}
