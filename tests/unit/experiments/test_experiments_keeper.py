"""Evidence beside the requests: what counts, what is kept, what other gateways know, and what a person orders."""

from pathlib import Path

import pytest
from experiment_world import POLICY, Clock, Requests, policy

from gateway.decisions.record import SignalRecord
from gateway.experiments.bench import Bench, Over
from gateway.experiments.keeper import Keeper
from gateway.experiments.shelf import Order, Shelf
from gateway.folder import FolderTaken
from gateway.state.shared_evidence import SharedEvidence
from gateway.state.store import Store
from policies.experiments.standing import print_of
from policies.experiments.trial import Exposure


@pytest.fixture
def clock() -> Clock:
    return Clock()


def keeping(clock: Clock, text: str = POLICY, **told: object) -> tuple[Keeper, Requests]:
    chosen = policy(text)
    keeper = Keeper(clock, **told)
    keeper.policy_loaded(chosen)
    return keeper, Requests(keeper, chosen)


def requests_seen(keeper: Keeper) -> int:
    return sum(keeper.chapters["second"].whole.requests.values())


async def test_what_a_request_came_to_counts_once_for_its_variant(clock: Clock) -> None:
    keeper, requests = keeping(clock)
    given = [requests.one(bad="treat")[1] for _ in range(40)]
    await keeper.step()

    found = keeper.chapters["second"].trial
    errors = found.metrics["treat/error_rate"].scores
    assert found.requests == {"control": given.count("control"), "treat": given.count("treat")}
    assert (errors.treat.total, errors.control.total) == (given.count("treat"), 0.0)


async def test_a_request_that_was_refused_or_left_says_nothing_of_errors(clock: Clock) -> None:
    keeper, requests = keeping(clock)
    for _ in range(10):
        requests.one(end="rejected")
        requests.one(end="cancelled")
    await keeper.step()

    found = keeper.chapters["second"].trial.metrics["treat/error_rate"].scores
    assert (found.treat.count, found.control.count) == (0, 0)


async def test_requests_without_their_unit_are_told_apart(clock: Clock) -> None:
    keeper, requests = keeping(clock)
    requests.one(unit="")
    await keeper.step()

    assert (keeper.chapters["second"].without_unit, keeper.chapters["second"].trial.requests) == (1, {})


async def test_a_broken_guardrail_acts_with_the_batch_that_broke_it(clock: Clock) -> None:
    keeper, requests = keeping(clock)
    for _ in range(400):
        requests.one(bad="treat")
        await keeper.step()
        if keeper.forced:
            break

    assert keeper.forced == {"second": "control"}
    assert keeper.chapters["second"].trial.requests["treat"] < 60


async def test_whether_an_answer_is_asked_for_again_is_known_when_the_time_for_it_is_over(clock: Clock) -> None:
    keeper, requests = keeping(clock, hears_again=True)
    again, _ = requests.one()
    requests.one()
    keeper.signalled(SignalRecord(at=0.0, request_id=again, tenant="t", signal="regenerated", version=1, by="x"))
    await keeper.step()

    def told() -> tuple[int, float]:
        sides = keeper.chapters["second"].trial.metrics["treat/regenerate_rate"].scores
        return sides.treat.count + sides.control.count, sides.treat.total + sides.control.total

    assert told() == (1, 1.0)
    clock.now += 599
    await keeper.step()
    assert told() == (1, 1.0)
    clock.now += 2
    await keeper.step()
    assert told() == (2, 1.0)


async def test_a_word_counts_once_and_of_its_own_tenant_alone(clock: Clock) -> None:
    keeper, requests = keeping(clock)
    name, _ = requests.one()
    for tenant in ("t", "t", "other"):
        keeper.told(tenant, name, {"success": 1.0})
    keeper.told("t", "r-none", {"success": 1.0})
    await keeper.step()

    sides = keeper.chapters["second"].trial.metrics["treat/task_success"].scores
    assert sides.treat.count + sides.control.count == 1


async def test_what_is_known_outlives_the_process(clock: Clock, tmp_path: Path) -> None:
    keeper, requests = keeping(clock, shelf=Shelf(tmp_path))
    for _ in range(30):
        requests.one()
    await keeper.step()
    await keeper.aclose()

    again, _ = keeping(clock, shelf=Shelf(tmp_path))
    await again.step()

    assert again.chapters["second"].trial == keeper.chapters["second"].trial
    assert Shelf(tmp_path).identity() == Shelf(tmp_path).identity()


@pytest.mark.parametrize("damage", [b"", b"{", b'{"schema": 99}', b"\xff\xfe"])
async def test_a_file_that_cannot_be_read_is_begun_afresh(damage: bytes, clock: Clock, tmp_path: Path) -> None:
    (tmp_path / "second.json").write_bytes(damage)

    keeper, requests = keeping(clock, shelf=Shelf(tmp_path))
    requests.one()
    await keeper.step()
    await keeper.aclose()

    kept = Shelf(tmp_path).read("second")
    assert kept is not None
    assert sum(kept.trial.requests.values()) == 1


async def test_an_order_is_obeyed_once_and_outlives_the_process(clock: Clock, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    keeper, _ = keeping(clock, shelf=shelf)
    await keeper.step()
    shelf.order("second", Order("promote", "treat", clock.now))
    clock.now += 2
    await keeper.step()
    await keeper.aclose()

    again, _ = keeping(clock, shelf=shelf)

    assert keeper.forced == again.forced == {"second": "treat"}
    assert shelf.taken_order("second") is None


async def test_an_ordered_ramp_holds_over_a_restart_until_the_file_has_other_weights(
    clock: Clock, tmp_path: Path
) -> None:
    shelf = Shelf(tmp_path)
    keeper, _ = keeping(clock, shelf=shelf)
    await keeper.step()
    weights = {"control": 1.0, "treat": 3.0}
    shelf.order("second", Order("ramp", "", clock.now, weights))
    clock.now += 2
    await keeper.step()
    await keeper.aclose()

    again, _ = keeping(clock, shelf=shelf)
    other, _ = keeping(clock, POLICY.replace("control: {weight: 1}", "control: {weight: 2}"), shelf=shelf)

    assert keeper.ramps == again.ramps == {"second": (weights,)}
    assert other.ramps == {}


async def test_a_ramp_takes_up_what_was_stopped_and_its_shares_are_what_is_expected(
    clock: Clock, tmp_path: Path
) -> None:
    shelf = Shelf(tmp_path)
    keeper, requests = keeping(clock, shelf=shelf)
    await keeper.step()
    for order in (
        Order("stop", "control", clock.now),
        Order("ramp", "", clock.now, {"control": 1.0, "treat": 9.0}),
    ):
        shelf.order("second", order)
        clock.now += 2
        await keeper.step()
    requests.ramps = keeper.ramps
    given = [requests.one()[1] for _ in range(200)]
    await keeper.step()

    found = keeper.chapters["second"]
    assert (keeper.forced, found.standing.state) == ({}, "running")
    assert given.count("treat") > 150
    assert found.trial.units.expected["treat"] == pytest.approx(180)


async def test_another_experiment_of_the_same_name_is_not_over(clock: Clock, tmp_path: Path) -> None:
    keeper, _ = keeping(clock, shelf=Shelf(tmp_path))
    await keeper.step()
    Shelf(tmp_path).order("second", Order("stop", "control", clock.now))
    clock.now += 2
    await keeper.step()
    await keeper.aclose()

    fresh, _ = keeping(clock, POLICY.replace("serves: other", "serves: third"), shelf=Shelf(tmp_path))

    assert (keeper.forced, fresh.forced) == ({"second": "control"}, {})


async def test_a_queue_that_is_full_loses_requests_and_counts_them(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    keeper, requests = keeping(clock, most=3)
    for _ in range(5):
        requests.one()
    await keeper.step()

    assert (requests_seen(keeper), keeper.dropped) == (3, 2)


async def shared(url: str, me: str, name: str) -> SharedEvidence:
    store = Store(url, wait_s=1.0, namespace=name)
    await store.connect()
    return SharedEvidence(store, me)


async def test_two_gateways_know_together_what_each_has_seen_and_nothing_twice(clock: Clock, store_url: str) -> None:
    one, of_one = keeping(clock, shared=await shared(store_url, "a", "two"))
    other, of_other = keeping(clock, shared=await shared(store_url, "b", "two"))
    of_other.prefix = "o"
    for _ in range(20):
        of_one.one()
        of_other.one()
    for _ in range(3):
        clock.now += 2
        await one.step()
        await other.step()

    assert requests_seen(one) == requests_seen(other) == 40
    assert sum(one.chapters["second"].trial.requests.values()) == 20


async def test_a_gateway_that_was_restarted_is_not_counted_twice(clock: Clock, store_url: str, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    one, requests = keeping(clock, shelf=shelf, shared=await shared(store_url, shelf.identity(), "again"))
    other, _ = keeping(clock, shared=await shared(store_url, "b", "again"))
    for _ in range(10):
        requests.one()
    await one.step()
    await one.aclose()
    back, more = keeping(clock, shelf=shelf, shared=await shared(store_url, shelf.identity(), "again"))
    more.prefix = "more"
    more.one()
    for _ in range(3):
        clock.now += 2
        await back.step()
        await other.step()

    assert requests_seen(back) == requests_seen(other) == 11


async def test_what_one_gateway_ends_is_over_at_the_others(clock: Clock, store_url: str, tmp_path: Path) -> None:
    shelf = Shelf(tmp_path)
    one, _ = keeping(clock, shelf=shelf, shared=await shared(store_url, "a", "ends"))
    other, _ = keeping(clock, shared=await shared(store_url, "b", "ends"))
    await one.step()
    await other.step()
    clock.now += 2
    shelf.order("second", Order("stop", "control", clock.now))
    for _ in range(3):
        clock.now += 2
        await one.step()
        await other.step()

    assert one.forced == other.forced == {"second": "control"}
    late, _ = keeping(clock, shared=await shared(store_url, "c", "ends"))
    await late.step()
    assert late.forced == {"second": "control"}


async def test_evidence_of_two_gateways_breaks_a_guardrail_that_neither_alone_would(
    clock: Clock, store_url: str
) -> None:
    keepers = [keeping(clock, shared=await shared(store_url, me, "both")) for me in ("a", "b")]
    for number, (_, requests) in enumerate(keepers):
        requests.prefix = f"g{number}"
        for _ in range(24):
            requests.one(bad="treat")
    for _ in range(3):
        clock.now += 2
        for keeper, _ in keepers:
            await keeper.step()

    assert [keeper.forced for keeper, _ in keepers] == [{"second": "control"}] * 2


@pytest.mark.parametrize("nonsense", [b"x", b'{"requests": []}'])
async def test_what_is_no_part_of_this_experiment_is_left_out(nonsense: bytes, clock: Clock, store_url: str) -> None:
    keeper, requests = keeping(clock, shared=await shared(store_url, "a", f"odd{len(nonsense)}"))
    stranger = await shared(store_url, "z", f"odd{len(nonsense)}")
    await stranger.tell(f"second:{print_of(requests.policy.experiments[0])}", nonsense, b'{"state":"running"}')
    requests.one()
    await keeper.step()

    assert requests_seen(keeper) == 1


async def test_a_store_that_is_away_costs_nothing_but_the_others(clock: Clock, tmp_path: Path) -> None:
    store = Store(f"unix://{tmp_path}/nobody", wait_s=0.05)
    keeper, requests = keeping(clock, shared=SharedEvidence(store, "a"))
    requests.one()
    clock.now += 2
    await keeper.step()

    assert requests_seen(keeper) == 1
    await store.aclose()


def test_a_folder_is_kept_by_one_process_and_read_by_any(tmp_path: Path) -> None:
    first, other = Shelf(tmp_path), Shelf(tmp_path)
    first.claim()

    with pytest.raises(FolderTaken):
        other.claim()
    assert other.all() == {}
    first.release()
    other.claim()
    other.release()


def test_a_unit_is_new_once_at_most_however_many_come_between() -> None:
    """Twice new, its two first outcomes would hang together, and the test of first outcomes takes them for two draws."""
    chosen, bench = policy(POLICY.replace("unit: request", "unit: user")), Bench(seen_bytes=64)
    bench.load(chosen.experiments, {}, 0.0)
    fresh = []
    for number in range(4_000):
        one = Exposure("second", "control", f"u{number % 2_000}", {"control": 0.5, "treat": 0.5})
        bench.take([Over(at=0.0, tenant="t", request_id=str(number), exposures=(one,), values={})], 0.0)
        fresh.append(sum(bench.chapters["second"].trial.units.seen.values()))

    assert 400 < fresh[1_999] == fresh[-1] <= 512
    assert bench.chapters["second"].trial.requests == {"control": 4_000}
