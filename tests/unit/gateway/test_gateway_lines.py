"""Lines are redrawn beside the requests: as one swap, never onto a policy that has gone, and told to the observer."""

import asyncio
from math import ceil
from random import Random

from gateway.control.lines import MOST_A_LOOK, Lines
from gateway.live.in_force import Live
from gateway.telemetry.unseen import NullObserver
from policies.catalogue import Model, Price
from policies.decide import decide
from policies.estimates import Estimate
from policies.facts import Facts
from policies.policy import Choose, Expected, Policy, Route, Target
from policies.snapshot import Snapshot
from policies.steering.steer import AT_LEAST, EVERY

SMALL = Model(name="small", at=("http://s",), price=Price(0, 0, 0), head="small")
LARGE = Model(name="large", at=("http://l",), price=Price(1_000_000, 1_000_000, 3_000_000), head="large")
IDLE = Snapshot(replicas={})


def rules(digest: str = "a", percent: float = 40, adapts: bool = True) -> Policy:
    choose = Choose(
        among=("small", "large"),
        target=Target("cost", percent, "large"),
        when_unsure="large",
        prices={"small": SMALL.price, "large": LARGE.price},
        relative_cost={"small": 0.0, "large": 1.0},
        loss_per_reference=10.0,
        expected=Expected(percent, 95, {}),
        adapts=adapts,
    )
    routes = (Route(name="default", choose=choose), Route(name="rest", use="small"))
    return Policy(hash=digest, name="p", models={"small": SMALL, "large": LARGE}, routes=routes)


class Told(NullObserver):
    def __init__(self) -> None:
        self.lines: list[tuple[str, float, float | None]] = []

    def steered(self, route: str, choose: Choose, realised: float | None) -> None:
        self.lines.append((route, choose.line.loss, realised))


def ask(lines: Lines, live: Live, count: int, seed: int = 1) -> None:
    """Hard prompts: by the line of `rules` most go to large."""
    random = Random(seed)
    for _ in range(count):
        facts = Facts(prompt_tokens=500)
        estimate = Estimate(p_good={"small": 0.3 + 0.5 * random.random(), "large": 0.95})
        lines.saw(facts, estimate, decide(live.policy, facts, estimate, IDLE))


def loss(live: Live) -> float:
    choose = live.policy.routes[0].choose
    assert choose is not None
    return choose.line.loss


async def test_a_route_that_spends_too_much_has_its_line_lowered_and_that_is_told() -> None:
    lines, live, told = Lines(now=lambda: 0.0), Live(rules(), {}), Told()
    before = live.policy
    ask(lines, live, AT_LEAST)
    await lines.look(lambda: live, told)
    assert loss(live) < 10.0
    assert live.policy.hash == before.hash
    assert before.routes[0].choose is not None
    assert before.routes[0].choose.line.loss == 10.0, "who has read the policy before keeps its line"
    route, line, realised = told.lines[-1]
    assert (route, line) == ("default", loss(live))
    assert realised is not None
    assert realised > 50


async def test_following_wakes_once_enough_was_seen_and_ends_with_the_process() -> None:
    lines, live, told = Lines(now=lambda: 0.0), Live(rules(), {}), Told()
    task = asyncio.create_task(lines.follow(lambda: live, told))
    for turn in range(ceil(AT_LEAST / EVERY)):
        ask(lines, live, EVERY, seed=turn)
        async with asyncio.timeout(5):
            while len(told.lines) < turn + 2:  # noqa: ASYNC110  nothing tells but the observer
                await asyncio.sleep(0)
    assert loss(live) < 10.0
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert task.cancelled()


async def test_a_reload_while_lines_are_solved_wins() -> None:
    lines, told = Lines(now=lambda: 0.0), Told()
    old, new = Live(rules("a"), {}), Live(rules("b", percent=60), {})
    in_force = [old]
    ask(lines, old, AT_LEAST)
    looking = asyncio.create_task(lines.look(lambda: in_force[0], told))
    await asyncio.sleep(0)
    new.redraw(lines.carry(old.policy, new.policy))
    in_force[0] = new
    await looking
    assert loss(new) == 10.0
    assert loss(old) == 10.0
    assert told.lines == []


async def test_decisions_of_a_policy_that_has_gone_teach_nothing() -> None:
    lines, live, told = Lines(now=lambda: 0.0), Live(rules("a"), {}), Told()
    gone = Live(rules("z"), {})
    ask(lines, gone, 2 * AT_LEAST)
    await lines.look(lambda: live, told)
    assert loss(live) == 10.0


async def test_what_was_learnt_outlives_a_reload_that_leaves_the_route_as_it_is() -> None:
    lines, live, told = Lines(now=lambda: 0.0), Live(rules("a"), {}), Told()
    ask(lines, live, AT_LEAST)
    await lines.look(lambda: live, told)
    learnt = loss(live)
    fresh = Live(rules("b"), {})
    fresh.redraw(lines.carry(live.policy, fresh.policy))
    assert loss(fresh) == learnt
    assert fresh.policy.hash == "b"


async def test_a_line_that_stays_where_it_is_leaves_the_policy_as_it_is() -> None:
    """What was found once for a policy need not be found again ten times a second."""
    lines, live, told = Lines(now=lambda: 0.0), Live(rules(), {}), Told()
    before = live.policy
    ask(lines, live, EVERY)

    await lines.look(lambda: live, told)

    assert live.policy is before
    assert told.lines[-1][:2] == ("default", 10.0)


async def test_with_adapt_off_the_line_stays_where_the_file_put_it() -> None:
    lines, live, told = Lines(now=lambda: 0.0), Live(rules(adapts=False), {}), Told()
    ask(lines, live, 5 * AT_LEAST)
    await lines.look(lambda: live, told)
    assert loss(live) == 10.0


async def test_what_nobody_looks_at_is_bounded_and_routes_without_a_choice_are_not_seen() -> None:
    lines, live = Lines(now=lambda: 0.0), Live(rules(), {})
    ask(lines, live, 3_000)
    pinned = Facts(requested="small")
    lines.saw(pinned, Estimate(), decide(live.policy, pinned, Estimate(), IDLE))
    assert lines.waiting == {"default": MOST_A_LOOK}
