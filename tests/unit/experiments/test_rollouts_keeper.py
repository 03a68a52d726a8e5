"""Rollouts beside the requests: a bad canary is taken back at once, steps go by shared evidence, a person's word is obeyed."""

import asyncio
from pathlib import Path

import pytest
from experiment_world import Clock, Requests, policy

from gateway.experiments.bench import Bench, Over, Pair, Shadowed, Told
from gateway.experiments.chapter import Chapter
from gateway.experiments.keeper import Keeper
from gateway.experiments.shelf import Order, Shelf
from gateway.experiments.telling import told_rollout
from gateway.state.shared_evidence import SharedEvidence
from gateway.state.store import Store
from policies.experiments.trial import Exposure

POLICY = """policy: 1
models: {m: {at: "http://127.0.0.1:9001/v1"}}
routes: [{name: default, use: m}]
guardrails:
  errors: {metric: error_rate, worse_by: 1pp}
  left: {metric: abandon_rate, worse_by: 1pp, act: hold}
rollouts:
  - name: next
    unit: request
    change: {models.m.serves: other}
    steps:
      - {traffic: 25%, and: {samples: 40}}
      - {traffic: 50%, for: 1h}
      - {approve: oncall}
      - {traffic: 100%, for: 1h}
    watch: [errors, left]
"""


@pytest.fixture
def clock() -> Clock:
    return Clock()


def keeping(clock: Clock, text: str = POLICY, prefix: str = "r", **told: object) -> tuple[Keeper, Requests]:
    chosen = policy(text)
    keeper = Keeper(clock, **told)  # type: ignore[arg-type]
    keeper.policy_loaded(chosen)
    return keeper, Requests(keeper, chosen, prefix)


async def asked(keeper: Keeper, requests: Requests, count: int, **how: object) -> list[str]:
    """The variants of so many requests, each by how it stands then, "" of those that take no part."""
    found = []
    for _ in range(count):
        requests.ramps = keeper.ramps
        found.append("control" if keeper.forced else requests.one(**how)[1])  # type: ignore[arg-type]
        await keeper.step()
    return found


async def passing(clock: Clock, *keepers: Keeper, seconds: float = 2.0) -> None:
    for _ in range(3):
        clock.now += seconds
        for keeper in keepers:
            await keeper.step()


def chapter(keeper: Keeper) -> Chapter:
    return keeper.chapters["next"]


async def shared(url: str, me: str, name: str) -> SharedEvidence:
    store = Store(url, wait_s=1.0, namespace=name)
    await store.connect()
    return SharedEvidence(store, me)


async def test_control_is_a_sample_as_big_as_the_canary_and_the_rest_counts_for_events_alone(clock: Clock) -> None:
    keeper, requests = keeping(clock)
    found = await asked(keeper, requests, 100)

    assert 10 < found.count("canary") < 45
    assert 10 < found.count("control") < 45
    trial, drawn = chapter(keeper).trial, {name: found.count(name) for name in ("canary", "control")}
    assert trial.requests == {**drawn, "rest": found.count("")}
    assert trial.units.seen == drawn
    assert trial.metrics["canary/error_rate"].scores.count == sum(drawn.values())
    rates = trial.watched["canary/errors"].rates
    assert rates is not None
    assert (rates.treat_count, rates.control_count) == (drawn["canary"], 100 - drawn["canary"])


async def test_a_bad_canary_is_taken_back_with_the_request_that_shows_it(clock: Clock, tmp_path: Path) -> None:
    keeper, requests = keeping(clock, shelf=Shelf(tmp_path))
    for _ in range(400):
        await asked(keeper, requests, 1, bad="canary")
        if keeper.forced:
            break

    assert keeper.forced == {"next": "control"}
    assert chapter(keeper).trial.requests["canary"] < 40
    told = told_rollout(chapter(keeper), clock.now)
    assert (told.state, told.share) == ("rolled_back", 0.0)
    assert "breaks the guardrail errors: 100% against 0%" in told.words
    await keeper.step()
    again, _ = keeping(clock, shelf=Shelf(tmp_path))
    assert again.forced == {"next": "control"}


async def test_steps_are_climbed_and_a_person_is_waited_for(clock: Clock) -> None:
    keeper, requests = keeping(clock)
    await keeper.step()
    while chapter(keeper).standing.step == 0:
        await asked(keeper, requests, 1)
        clock.now += 1.5
    assert chapter(keeper).canaries >= 40
    assert keeper.ramps["next"][-1] == {"control": 0.5, "canary": 0.5}
    await passing(clock, keeper, seconds=1_900)
    assert chapter(keeper).standing.state == "waiting"

    found = await obeyed(keeper, "approve", clock.now)
    assert found is not None
    assert found.standing.step == 3
    assert (await asked(keeper, requests, 30)).count("canary") >= 28
    await passing(clock, keeper, seconds=1_900)
    assert (keeper.forced, told_rollout(chapter(keeper), clock.now).state) == ({"next": "canary"}, "done")


async def test_a_version_that_breaks_down_in_the_last_step_is_taken_back(clock: Clock) -> None:
    steps = POLICY.replace("{traffic: 25%, and: {samples: 40}}", "{traffic: 100%, for: 1h}").replace(
        "      - {traffic: 50%, for: 1h}\n      - {approve: oncall}\n      - {traffic: 100%, for: 1h}\n", ""
    )
    keeper, requests = keeping(clock, steps)
    await keeper.step()
    found = await asked(keeper, requests, 300)
    assert found.count("canary") > 280
    for _ in range(3_000):
        await asked(keeper, requests, 1, bad="canary")
        if keeper.forced:
            break

    assert keeper.forced == {"next": "control"}
    assert chapter(keeper).trial.requests["canary"] < 1_500


async def obeyed(keeper: Keeper, action: str, at: float, name: str = "next") -> Chapter | None:
    given = asyncio.create_task(keeper.obey(name, Order(action, "", at)))  # type: ignore[arg-type]
    await asyncio.sleep(0)
    await keeper.step()
    return await given


async def test_what_is_held_goes_on_with_new_evidence_when_a_person_says_so(clock: Clock, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    keeper, requests = keeping(clock, shelf=shelf)
    await keeper.step()
    for _ in range(400):
        await asked(keeper, requests, 1, left="canary")
        clock.now += 1.5
        if chapter(keeper).standing.state == "held":
            break
    held = chapter(keeper).standing
    assert (held.state, keeper.forced, keeper.ramps["next"][-1]["canary"]) == ("held", {}, 0.25)
    await passing(clock, keeper, seconds=9_999)
    assert chapter(keeper).standing == held

    shelf.order("next", Order("resume", "", clock.now))
    await passing(clock, keeper)
    found = chapter(keeper)
    assert (found.standing.state, found.standing.step, found.standing.round) == ("running", 0, 1)
    assert (found.whole.requests, found.trial.round) == ({}, 1)


async def test_an_order_that_does_not_fit_changes_nothing(clock: Clock) -> None:
    keeper, _ = keeping(clock)
    await keeper.step()
    before = chapter(keeper).standing
    for action in ("approve", "resume", "stop", "promote", "ramp"):
        assert (await obeyed(keeper, action, clock.now)) is not None

    assert chapter(keeper).standing == before
    assert await obeyed(keeper, "abort", clock.now, "other") is None


def test_units_of_the_canary_that_get_lost_hold_it() -> None:
    found, bench = policy(POLICY).experiments[0], Bench()
    bench.load((found,), {}, 0.0)
    for number in range(3_000):
        exposure = Exposure("next", "control", f"u{number}", {"control": 0.5, "canary": 0.5})
        bench.take((Over(at=0.0, tenant="t", request_id=str(number), exposures=(exposure,), values={}),), 0.0)
    bench.judge(1.0)

    standing = bench.chapters["next"].standing
    assert (standing.state, bench.forced, bench.ramps["next"][-1]["canary"]) == ("held", {}, 0.25)
    assert "do not get the units that they should" in standing.why


async def test_other_steps_in_the_file_are_gone_on_with_and_another_change_begins_anew(clock: Clock) -> None:
    keeper, requests = keeping(clock)
    await asked(keeper, requests, 40)
    before = chapter(keeper).trial.requests
    keeper.policy_loaded(policy(POLICY.replace("{traffic: 25%,", "{traffic: 5%, for: 1h}\n      - {traffic: 30%,")))
    await keeper.step()
    assert (chapter(keeper).standing.step, keeper.ramps["next"][-1]["canary"]) == (1, 0.3)
    assert chapter(keeper).trial.requests == before

    keeper.policy_loaded(policy(POLICY.replace("serves: other", "serves: third")))
    await keeper.step()
    assert (chapter(keeper).standing.step, chapter(keeper).trial.requests) == (0, {})


async def test_two_gateways_climb_by_what_both_saw_and_roll_back_together(clock: Clock, store_url: str) -> None:
    one, of_one = keeping(clock, prefix="a", shared=await shared(store_url, "a", "climb"))
    other, of_other = keeping(clock, prefix="b", shared=await shared(store_url, "b", "climb"))
    await passing(clock, one, other)
    while chapter(one).canaries < 44:
        await asked(one, of_one, 8)
        await asked(other, of_other, 8)
        await passing(clock, one, other)

    assert chapter(one).trial.requests["canary"] < 40
    assert chapter(one).standing == chapter(other).standing
    assert chapter(one).standing.step == 1
    for _ in range(200):
        await asked(one, of_one, 1, bad="canary")
        if one.forced:
            break
    await passing(clock, one, other)
    assert one.forced == other.forced == {"next": "control"}


async def test_two_gateways_end_a_shadow_by_the_pairs_of_both_and_both_hold_what_breaks(
    clock: Clock, store_url: str
) -> None:
    text = POLICY.replace("    steps:\n", "    steps:\n      - {shadow: 5%, until: {pairs: 40}}\n")
    one, _ = keeping(clock, text, shared=await shared(store_url, "a", "pairs"))
    other, _ = keeping(clock, text, shared=await shared(store_url, "b", "pairs"))
    assert one.shadowed == {}
    await passing(clock, one, other)
    assert one.shadowed == other.shadowed == {"next": Shadowed(0.05, 0)}
    for keeper, failed in ((one, 0.0), (other, 1.0)):
        for _ in range(15):
            keeper.compared(Pair("next", 0, {"error": failed}, {"error": 0.0}))
    await passing(clock, one, other)

    assert chapter(one).standing == chapter(other).standing
    assert chapter(one).standing.state == "held"
    assert one.shadowed == other.shadowed == {}
    await asyncio.gather(one.obey("next", Order("resume", "", clock.now)), one.step())
    await passing(clock, one, other)
    assert one.shadowed == other.shadowed == {"next": Shadowed(0.05, 1)}
    for keeper in (one, other):
        for _ in range(20):
            keeper.compared(Pair("next", 1, {"error": 0.0}, {"error": 0.0}))
        keeper.compared(Pair("next", 0, {"error": 1.0}, {"error": 0.0}))
    await passing(clock, one, other)

    assert [chapter(keeper).trial.pairs for keeper in (one, other)] == [20, 20]
    assert chapter(one).standing == chapter(other).standing
    assert (chapter(one).standing.step, one.shadowed) == (1, {})


async def test_what_pairs_have_shown_outlives_the_process(clock: Clock, tmp_path: Path) -> None:
    text = POLICY.replace("    steps:\n", "    steps:\n      - {shadow: 5%, until: {pairs: 40}}\n")
    keeper, _ = keeping(clock, text, shelf=Shelf(tmp_path))
    await passing(clock, keeper)
    for _ in range(12):
        keeper.compared(Pair("next", 0, {"error": 0.0}, {"error": 0.0}))
    await keeper.step()
    await keeper.aclose()
    again, _ = keeping(clock, text, shelf=Shelf(tmp_path))
    await passing(clock, again)

    assert chapter(again).trial.pairs == 12
    assert again.shadowed == {"next": Shadowed(0.05, 0)}
    assert "28 more pairs of its shadow" in told_rollout(chapter(again), clock.now).words


async def test_a_gateway_that_joins_begins_where_the_others_are(clock: Clock, store_url: str) -> None:
    one, of_one = keeping(clock, shared=await shared(store_url, "a", "joins"))
    await passing(clock, one)
    for _ in range(200):
        await asked(one, of_one, 1, bad="canary")
        if one.forced:
            break
    await passing(clock, one)
    late, _ = keeping(clock, shared=await shared(store_url, "z", "joins"))
    assert (late.forced, late.ramps) == ({}, {})
    await late.step()

    assert late.forced == {"next": "control"}


async def test_nobody_tries_a_change_while_it_is_not_known_what_others_know_of_it(clock: Clock, tmp_path: Path) -> None:
    store = Store(f"unix://{tmp_path}/nobody", wait_s=0.05)
    keeper, requests = keeping(clock, shared=SharedEvidence(store, "a"))
    await passing(clock, keeper)

    assert await asked(keeper, requests, 20) == [""] * 20
    await store.aclose()


async def test_resumed_after_a_rollback_all_gateways_begin_with_new_evidence(clock: Clock, store_url: str) -> None:
    one, of_one = keeping(clock, prefix="a", shared=await shared(store_url, "a", "resume"))
    other, _ = keeping(clock, prefix="b", shared=await shared(store_url, "b", "resume"))
    await passing(clock, one, other)
    for _ in range(200):
        await asked(one, of_one, 1, bad="canary")
        if one.forced:
            break
    await passing(clock, one, other)
    await obeyed(other, "resume", clock.now)
    await passing(clock, other, one)

    for keeper in (one, other):
        assert (chapter(keeper).standing.state, chapter(keeper).standing.round) == ("running", 1)
        assert chapter(keeper).whole.requests == {}
        assert keeper.ramps["next"][-1]["canary"] == 0.25


def test_who_was_not_drawn_is_not_remembered_so_those_who_were_can_still_be_judged() -> None:
    chosen, bench = policy(POLICY), Bench(most=4)
    bench.load(chosen.experiments, {}, 0.0)
    chances = {"control": 0.25, "canary": 0.25, "rest": 0.5}

    def over(number: int, variant: str) -> Over:
        one = Exposure("next", variant, f"u{number}", chances)
        return Over(at=0.0, tenant="t", request_id=f"r{number}", exposures=(one,), values={"error": 0.0}, waits=True)

    bench.take([over(0, "canary"), *[over(number, "rest") for number in range(1, 40)]], 0.0)
    bench.take([Told("t", "r0", {"abandoned": 1.0}), Told("t", "r7", {"abandoned": 1.0})], 1.0)

    left = bench.chapters["next"].trial.watched["canary/left"].rates
    assert left is not None
    assert (left.treat_events, left.treat_count, left.control_count) == (1.0, 1.0, 0.0)
