"""What a settled request was charged finds its way to the line of its route: the answer, what was given up, who was beside."""

from collections.abc import Callable
from random import Random
from typing import Any

import msgspec
import pytest

from backends.messages import Usage
from gateway.control.bills import Settled, bills, used_of
from gateway.control.lines import Lines
from gateway.live.in_force import Live
from gateway.request.judge import Judged
from gateway.request.settlement import Settlement
from gateway.telemetry.unseen import NullObserver
from policies.catalogue import Model, Price
from policies.decide import decide
from policies.decision import Call
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Choose, Expected, Policy, Route, Target
from policies.snapshot import Snapshot
from policies.steering.sight import Decided
from policies.steering.steer import EVERY
from policies.steering.window import Bill

SMALL = Model(name="small", at=("http://s",), price=Price(100_000, 100_000, 100_000), head="small")
LARGE = Model(name="large", at=("http://l",), price=Price(1_000_000, 1_000_000, 1_000_000), head="large")
S, L = Call("small", "http://s"), Call("large", "http://l")
IDLE = Snapshot(replicas={})
EASY = Estimate(p_good={"small": 0.9, "large": 0.95})


def rules(priced: bool = True) -> Policy:
    models = {m.name: m if priced else msgspec.structs.replace(m, price=Price()) for m in (SMALL, LARGE)}
    choose = Choose(
        among=("small", "large"),
        target=Target("cost", 40, "large"),
        when_unsure="large",
        prices={"small": SMALL.price, "large": LARGE.price},
        relative_cost={"small": 0.1, "large": 1.0},
        loss_per_reference=10.0,
        expected=Expected(40, 95, {}),
    )
    return Policy(hash="a", name="p", models=models, routes=(Route(name="default", choose=choose),))


def judged(policy: Policy, estimate: Estimate = EASY) -> Judged:
    facts = Facts(prompt_tokens=500)
    return Judged(facts, estimate, decide(policy, facts, estimate, IDLE), IDLE, {})


ANSWER = Usage(500, 100)


def settled(found: Judged, by: Call = S, usage: Usage | None = ANSWER, **more: object) -> Settlement:
    fields = {"status": 200, "end": "stop", "attempts": 1, "duration_ms": 1.0, "tenant": "default", "stream": False}
    said = {"request_id": "r", "dialect": "openai_chat", **fields, **more}
    return Settlement(decision=found.decision, answered_by=by, usage=usage, **said)  # type: ignore[arg-type]


def billed(priced: bool, over: Callable[[Judged], Settlement]) -> Bill:
    policy = rules(priced)
    [route] = policy.routes
    assert route.choose is not None
    found = judged(policy)
    seen, settlement = Decided(found.facts, found.estimate, found.decision), over(found)
    [bill] = bills(policy, route, route.choose, [Settled(seen, settlement.microusd, used_of(settlement))])
    return bill


@pytest.mark.parametrize("priced", [True, False])
def test_an_escalated_answer_is_billed_with_what_was_given_up_for_it_and_who_was_beside(priced: bool) -> None:
    """By stand-ins where no model has a price: then nothing was charged."""
    given_up: dict[str, Any] = {
        "abandoned_by": S,
        "abandoned": Usage(500, 48),
        "beside": S,
        "beside_usage": Usage(500, 0),
    }
    bill = billed(priced, lambda found: settled(found, L, microusd=705 * priced, **given_up))
    assert (bill.spent, bill.base) == (600 + 55 + 50, 600)
    assert (bill.reckoned, bill.reckoned_base) == (80, 800)


def test_whatever_else_was_charged_is_billed() -> None:
    """The loser of a race, say."""
    assert billed(True, lambda found: settled(found, S, microusd=60 + 33)).spent == 93


def test_who_answered_nobody_is_not_billed() -> None:
    found = judged(rules())
    assert used_of(settled(found, usage=None)) == ()


async def line_after(escalated: bool) -> float:
    """All prompts differ in difficulty, and every third small answer is given up."""
    lines, live, random = Lines(now=lambda: 0.0), Live(rules(), {}), Random(1)
    for i in range(1_000):
        one = judged(live.policy, Estimate(p_good={"small": 0.95 * random.random(), "large": 0.95}))
        lines.saw(one.facts, one.estimate, one.decision)
        again = escalated and one.decision.choice == S and i % 3 == 0
        more: dict[str, Any] = {"abandoned_by": S, "abandoned": Usage(500, 48)} if again else {}
        by = L if again or one.decision.choice == L else S
        spent = 600 * (by == L) + 60 * (by == S) + 55 * again
        lines.settled(one, settled(one, by, microusd=spent, **more))
        if i % EVERY == EVERY - 1:
            await lines.look(lambda: live, NullObserver())
    choose = live.policy.routes[0].choose
    assert choose is not None
    return choose.line.loss


async def test_a_route_that_escalates_much_has_its_line_lowered_where_one_that_does_not_keeps_it() -> None:
    assert await line_after(escalated=True) < 0.8 * await line_after(escalated=False)
