"""What is measured of one server in one round, and how the rounds come to one number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import median

import uvloop

from loadtests.openloop import quantile
from loadtests.overhead.client import Heard, Load, ask
from loadtests.overhead.cores import Cores, pinned
from loadtests.overhead.wire import PROMPTS, body, request
from loadtests.servers import Server

Figures = dict[str, float]

STREAMS = 64
CROWD, CROWD_TOKENS, CROWD_GAP_MS = 512, 20, 100
SMALL, LARGE = 1_024, 65_536


@dataclass(frozen=True)
class Plan:
    """Seconds of each part of a round; `rounds` of them count, after one for those that start cold."""

    alone_s: float = 2.0
    small_s: float = 3.0
    large_s: float = 3.0
    streams_s: float = 4.0
    rounds: int = 3

    def scaled(self, by: float) -> "Plan":
        return Plan(self.alone_s * by, self.small_s * by, self.large_s * by, self.streams_s * by, self.rounds)

    @property
    def round_s(self) -> float:
        return self.alone_s + self.small_s + self.large_s + self.streams_s


def wires(url: str, make: Callable[[int], bytes]) -> tuple[bytes, ...]:
    host = url.removeprefix("http://")
    return tuple([request(host, make(number)) for number in range(PROMPTS)])


def small(number: int) -> bytes:
    return body(SMALL, number)


def large(number: int) -> bytes:
    return body(LARGE, number)


def streaming(number: int) -> bytes:
    return body(SMALL, number, stream=True)


def slow(number: int) -> bytes:
    return body(SMALL, number, stream=True, tokens=CROWD_TOKENS, gap_ms=CROWD_GAP_MS)


@dataclass
class Spent:
    """Processor time of a server since the load was warm."""

    server: Server
    since_s: float = 0.0

    def begin(self) -> None:
        self.since_s = self.server.cpu_s()

    @property
    def us(self) -> float:
        return (self.server.cpu_s() - self.since_s) * 1e6


def heard(server: Server, load: Load, cores: Cores) -> tuple[Heard, float]:
    """What was heard, and the microseconds of processor time that it cost the server."""
    spent = Spent(server)
    with pinned(cores.asks):
        answers = uvloop.run(ask(server.url, load, spent.begin))
    return answers, spent.us


def warm_up(server: Server, cores: Cores) -> None:
    """Every prompt twice, so that who remembers prompts has seen them all."""
    for make in (small, large):
        heard(server, Load(wires(server.url, make), width=2, seconds=0.0, times=PROMPTS), cores)


def one_round(server: Server, plan: Plan, cores: Cores) -> Figures:
    short, long = wires(server.url, small), wires(server.url, large)
    alone, _ = heard(server, Load(short, 1, plan.alone_s, warm_s=0.1), cores)
    crowd, crowd_us = heard(server, Load(short, 64, plan.small_s, warm_s=0.2), cores)
    bulk, bulk_us = heard(server, Load(long, 32, plan.large_s, warm_s=0.2), cores)
    return {
        "p50_ms_c1": quantile(alone.took, 0.5),
        "p99_ms_c1": quantile(alone.took, 0.99),
        "rps_1kb_c64": len(crowd.took) / crowd.elapsed_s,
        "cpu_us_per_request": crowd_us / max(1, len(crowd.took)),
        "rps_64kb_c32": len(bulk.took) / bulk.elapsed_s,
        "cpu_us_per_request_64kb": bulk_us / max(1, len(bulk.took)),
        "bad": float(alone.bad + crowd.bad + bulk.bad),
        **streamed(server, plan.streams_s, cores),
    }


def streamed(server: Server, seconds: float, cores: Cores) -> Figures:
    """64 streams at 100 tokens a second; each that ends is followed by another, so that they are always in all phases."""
    load = Load(wires(server.url, streaming), STREAMS, seconds, warm_s=1.0, spread_s=1.0)
    answers, us = heard(server, load, cores)
    return {
        "cpu_us_per_chunk": us / max(1, len(answers.delays)),
        "chunk_delay_p50_ms": quantile(answers.delays, 0.5),
        "chunk_delay_p99_ms": quantile(answers.delays, 0.99),
        "ttft_p50_ms_64": quantile(answers.ttfts, 0.5),
        "ttft_p99_ms_64": quantile(answers.ttfts, 0.99),
        "bad_streams": float(answers.bad),
    }


def crowded(server: Server, cores: Cores) -> Figures:
    """512 streams at once; `streams_512_whole` of them came to their end."""
    load = Load(wires(server.url, slow), CROWD, 0.0, spread_s=1.0, times=1)
    answers, _ = heard(server, load, cores)
    return {"streams_512_whole": float(len(answers.took) - answers.bad), "streams_512_dropped": float(answers.bad)}


def medians(rounds: list[Figures]) -> Figures:
    """Of every figure, over the rounds that have it.

    >>> medians([{"a": 1.0}, {"a": 5.0}, {"a": 2.0}])
    {'a': 2.0}
    """
    return {name: median([figures[name] for figures in rounds if name in figures]) for name in rounds[0]}


def added(through: Figures, bare: Figures) -> Figures:
    """What a server adds to the bare upstream of the same round, at the same quantile, beside its own figures."""
    pairs = {
        "added_p50_ms_c1": "p50_ms_c1",
        "added_p99_ms_c1": "p99_ms_c1",
        "added_ttft_p50_ms_64": "ttft_p50_ms_64",
        "added_ttft_p99_ms_64": "ttft_p99_ms_64",
    }
    return through | {name: through[of] - bare[of] for name, of in pairs.items()}


def compare(servers: Mapping[str, Server], bare: Server, plan: Plan, cores: Cores) -> dict[str, Figures]:
    """Everybody takes turns in every round, the bare upstream first."""
    seen: dict[str, list[Figures]] = {name: [] for name in servers}
    for server in servers.values():
        warm_up(server, cores)
    for _ in range(plan.rounds):
        direct = one_round(bare, plan, cores)
        for name, server in servers.items():
            seen[name].append(added(one_round(server, plan, cores), direct))
    return {name: medians(rounds) for name, rounds in seen.items()}
