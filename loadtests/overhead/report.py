"""The figures as a table, as a cell of the ledger, and beside the goals."""

from collections.abc import Mapping
from dataclasses import dataclass

from loadtests.overhead.rounds import Figures

COLUMNS = {
    "added_p50_ms_c1": "added p50 ms",
    "rps_1kb_c64": "1 KB /s",
    "rps_64kb_c32": "64 KB /s",
    "cpu_us_per_request": "us/request",
    "cpu_us_per_chunk": "us/chunk",
    "chunk_delay_p99_ms": "delay p99 ms",
    "added_ttft_p99_ms_64": "TTFT p99 ms",
    "startup_s": "start s",
    "rss_mb": "MB",
    "slope_kb_per_minute": "KB/min",
}


@dataclass(frozen=True)
class Goal:
    """Turnout's figure at most, or `at_least`, `bound` times that of `of`; a number alone where `of` is empty."""

    figure: str
    bound: float
    of: str = ""
    at_least: bool = False

    @property
    def name(self) -> str:
        sign = ">=" if self.at_least else "<="
        return f"{self.figure} {sign} {self.bound:g}" + (f" x {self.of}" if self.of else "")


GOALS = (
    Goal("added_p50_ms_c1", 0.20, "plain_httpx"),
    Goal("added_p50_ms_c1", 1.2, "vllm_rr"),
    Goal("rps_1kb_c64", 20, "plain_httpx", at_least=True),
    Goal("rps_1kb_c64", 1, "vllm_cache", at_least=True),
    Goal("rps_64kb_c32", 1, "sglang_cache", at_least=True),
    Goal("cpu_us_per_chunk", 60),
    Goal("chunk_delay_p99_ms", 2),
    Goal("added_ttft_p99_ms_64", 5),
    Goal("streams_512_dropped", 0),
    Goal("startup_s", 1),
    Goal("rss_mb", 120),
)


def goals(peers: Mapping[str, Figures]) -> dict[str, dict[str, float | bool]]:
    """Of every goal whose figures were measured: what it came to, in the goal's own unit, and whether that is met."""
    return {goal.name: found for goal in GOALS if (found := _against(goal, peers)) is not None}


def _against(goal: Goal, peers: Mapping[str, Figures]) -> dict[str, float | bool] | None:
    ours = peers["turnout"].get(goal.figure)
    theirs = peers.get(goal.of, {}).get(goal.figure) if goal.of else 1.0
    if ours is None or not theirs:
        return None
    value = ours / theirs
    return {"value": value, "met": value >= goal.bound if goal.at_least else value <= goal.bound}


def lines(peers: Mapping[str, Figures]) -> list[str]:
    shown = [name for name in COLUMNS if any(name in figures for figures in peers.values())]
    head = " " * 14 + "".join([f"{COLUMNS[name]:>14}" for name in shown])
    rows = [
        f"{peer:<14}" + "".join([f"{figures.get(name, float('nan')):>14.2f}" for name in shown])
        for peer, figures in peers.items()
    ]
    verdicts = [
        f"{'met' if found['met'] else 'MISSED':<7}{name}: {found['value']:.2f}" for name, found in goals(peers).items()
    ]
    return [head, *rows, "", *verdicts]


def cell(peers: Mapping[str, Figures]) -> str:
    """Everybody's figures in one cell."""
    return "; ".join(
        f"{peer}: " + ", ".join([f"{COLUMNS[name]} {figures[name]:.4g}" for name in COLUMNS if name in figures])
        for peer, figures in peers.items()
    )
