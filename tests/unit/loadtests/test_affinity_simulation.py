"""The simulation of a fleet: what its servers do, and how the gateway's own choice fares in it."""

import random

from loadtests.affinity.fleet import Pool, drive
from loadtests.affinity.ours import Ours
from loadtests.affinity.replica import Job, Replica, prefill_s
from loadtests.affinity.report import COLUMNS, Result, as_json, numbers
from loadtests.affinity.rivals import RIVALS
from loadtests.affinity.scenarios import Scenario, scenarios
from loadtests.affinity.traces import Arrival, Trace, with_hot_prefix, without_sharing


def talk(conversations: int, turns: int, seed: int) -> Trace:
    """Conversations that grow by three blocks a turn, from one system prompt of a block."""
    draw, arrivals = random.Random(seed), list[Arrival]()
    for who in range(conversations):
        at, blocks = draw.uniform(0, 600), (0,)
        for turn in range(turns):
            blocks = (*blocks, *(1 + (who * turns + turn) * 3 + i for i in range(3)))
            arrivals.append(Arrival(at, blocks, 512 * len(blocks), 200))
            at += draw.expovariate(1 / 20)
    return sorted(arrivals)


def of(trace: Trace, kind: str, load: float) -> Scenario:
    return next(scenarios(trace, 4, (load,), (kind,)))


def test_a_prompt_waits_for_the_one_before_it_and_finds_its_prefix() -> None:
    replica = Replica("r", cache_blocks=100)
    first = Job(Arrival(0.0, (1, 2), 1024, 10), 1024)
    second = Job(Arrival(0.0, (1, 2, 3), 1536, 10), 1536)
    replica.submit(first, 0.0)
    replica.submit(second, 0.0)
    replica.advance(100.0)

    assert (first.cached, second.cached) == (0, 1024)
    assert second.first_token_at >= first.first_token_at >= prefill_s(1024)
    assert replica.computed == 1024 + 512
    assert not replica.running


def test_a_cache_holds_what_fits_and_gives_up_ends_first() -> None:
    replica = Replica("r", cache_blocks=2)
    replica.cache.add((1, 2, 3))
    assert replica.cache.depth((1, 2, 3)) == 2
    replica.cache.add((7,))
    assert replica.cache.depth((1, 2, 3)) == 1


def test_every_job_of_a_fleet_that_restarts_is_answered_once() -> None:
    trace = talk(40, 3, 1)
    run = drive(trace, Pool((1.0, 1.0), 100, restart_every_s=20.0), Ours)
    assert len({id(job) for job in run.jobs}) == len(run.jobs)
    assert {id(job.arrival) for job in run.jobs} == {id(arrival) for arrival in trace}


def test_the_same_run_gives_the_same_numbers() -> None:
    scenario = of(talk(60, 4, 2), "as it is", 0.8)
    assert numbers(drive(scenario.trace, scenario.pool, Ours), scenario) == numbers(
        drive(scenario.trace, scenario.pool, Ours), scenario
    )


def test_conversations_keep_their_caches_and_the_fleet_its_balance() -> None:
    scenario = of(talk(400, 6, 3), "as it is", 0.8)
    ours = numbers(drive(scenario.trace, scenario.pool, Ours), scenario)
    blind = numbers(drive(scenario.trace, scenario.pool, RIVALS["least load"]), scenario)
    assert ours["hit_share_of_ceiling"] > 0.97 > blind["hit_share_of_ceiling"]
    assert ours["imbalance"] < 1.1
    assert ours["ttft_p90_s"] < blind["ttft_p90_s"]


def test_where_nothing_is_shared_it_is_as_good_as_least_load() -> None:
    scenario = of(without_sharing(talk(300, 4, 4)), "nothing shared", 0.8)
    ours = numbers(drive(scenario.trace, scenario.pool, Ours), scenario)
    least = numbers(drive(scenario.trace, scenario.pool, RIVALS["least load"]), scenario)
    assert ours["ttft_p90_s"] <= 1.03 * least["ttft_p90_s"]


def test_a_hot_prefix_comes_to_lie_at_every_replica() -> None:
    trace = with_hot_prefix(talk(400, 3, 5), 8192, 0.9, 1)
    scenario = of(trace, "as it is", 0.8)
    run = drive(scenario.trace, scenario.pool, Ours)
    used = {job.replica for job in run.jobs if job.cached >= 8192}
    assert len(used) == len(scenario.pool.speeds)
    assert numbers(run, scenario)["imbalance"] < 1.35


def test_nobody_is_told_of_a_first_token_before_it_is_there() -> None:
    heard: list[tuple[float, float]] = []

    class Watching(Ours):
        def answered(self, job: Job) -> None:
            heard.append((self._fleet.now, job.first_token_at))
            super().answered(job)

    drive(talk(30, 3, 6), Pool((1.0, 1.0), 100), Watching)
    assert len(heard) == 90
    assert all(first_token_at <= now for now, first_token_at in heard)


def test_whoever_reads_the_json_finds_ours_beside_each_rival_under_its_name() -> None:
    scenario = of(talk(20, 2, 7), "as it is", 0.5)
    under = {name: numbers(drive(scenario.trace, scenario.pool, RIVALS[name]), scenario) for name in RIVALS}
    ours = numbers(drive(scenario.trace, scenario.pool, Ours), scenario)

    told = as_json([Result(scenario, ours, under)])

    assert set(ours) == set(COLUMNS)
    assert {name: told[name] for name in ("ours", *RIVALS)} == {"ours": ours, **under}
    assert (told["scenario"], told["load"], told["rivals"]) == ("as it is", 0.5, under)
