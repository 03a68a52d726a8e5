"""Traces and fleets that are hard in different ways, each at a load that is meant."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from loadtests.affinity.fleet import Pool
from loadtests.affinity.replica import Cache, answer_s, prefill_s
from loadtests.affinity.traces import BLOCK_TOKENS, Trace, stretched, with_hot_prefix, without_sharing

CACHE_BLOCKS = 4_000
"""Of one replica, of 512 tokens each: two million tokens."""
HOT_TOKENS, HOT_SHARE = 8_192, 0.9
RESTART_EVERY_S = 60.0
SEED = 7


@dataclass(frozen=True, slots=True)
class Scenario:
    """`ceiling` is the share of blocks that one cache as large as the whole fleet's would have had."""

    name: str
    load: float
    trace: Trace
    pool: Pool
    ceiling: float

    @property
    def blocks(self) -> int:
        return sum(len(arrival.blocks) for arrival in self.trace)


def alike(replicas: int) -> Pool:
    return Pool((1.0,) * replicas, CACHE_BLOCKS)


def restarting(replicas: int) -> Pool:
    return Pool((1.0,) * replicas, CACHE_BLOCKS, RESTART_EVERY_S)


def stale(replicas: int) -> Pool:
    """Servers evict ten times as soon, and nobody is told."""
    return Pool((1.0,) * replicas, CACHE_BLOCKS // 10)


def uneven(replicas: int) -> Pool:
    """Every other replica is half as fast."""
    return Pool(tuple(1.0 if i % 2 == 0 else 0.5 for i in range(replicas)), CACHE_BLOCKS)


def as_it_is(trace: Trace) -> Trace:
    return trace


def hot(trace: Trace) -> Trace:
    return with_hot_prefix(trace, HOT_TOKENS, HOT_SHARE, SEED)


KINDS: Mapping[str, tuple[Callable[[Trace], Trace], Callable[[int], Pool]]] = {
    "as it is": (as_it_is, alike),
    "nothing shared": (without_sharing, alike),
    "hot prefix": (hot, alike),
    "restarts": (as_it_is, restarting),
    "stale index": (as_it_is, stale),
    "uneven pool": (as_it_is, uneven),
}


def scenarios(trace: Trace, replicas: int, loads: tuple[float, ...], kinds: tuple[str, ...]) -> Iterator[Scenario]:
    """Arrivals are stretched in time until the fleet has that share of the work that it can do."""
    for kind in kinds:
        change, pool_of = KINDS[kind]
        changed, pool = change(trace), pool_of(replicas)
        ceiling, work_s = best_possible(changed, Cache(replicas * CACHE_BLOCKS))
        natural = work_s / changed[-1].at_s / sum(pool.speeds)
        for load in loads:
            yield Scenario(kind, load, stretched(changed, natural / load), pool, ceiling)


def best_possible(trace: Trace, cache: Cache) -> tuple[float, float]:
    """The share of blocks found in one cache, and the seconds of work that remain."""
    found, work_s = 0, 0.0
    for arrival in trace:
        depth = cache.depth(arrival.blocks)
        cache.add(arrival.blocks)
        found += depth
        uncached = max(1, arrival.prompt_tokens - depth * BLOCK_TOKENS)
        work_s += prefill_s(uncached) + answer_s(arrival.output_tokens)
    return found / sum(len(arrival.blocks) for arrival in trace), work_s
