"""What one run came to, and tables of many."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil

from rich.console import Console
from rich.table import Table

from loadtests.affinity.fleet import Run
from loadtests.affinity.scenarios import Scenario
from loadtests.affinity.traces import BLOCK_TOKENS

Numbers = Mapping[str, float]
COLUMNS = ("hit_share_of_ceiling", "imbalance", "ttft_p50_s", "ttft_p90_s", "ttft_p99_s")


@dataclass(frozen=True, slots=True)
class Result:
    """One scenario: ours, and each rival by name."""

    scenario: Scenario
    ours: Numbers
    rivals: Mapping[str, Numbers]

    @property
    def best_rival(self) -> str:
        """By TTFT p90."""
        return min(self.rivals, key=lambda name: self.rivals[name]["ttft_p90_s"])


def numbers(run: Run, scenario: Scenario) -> Numbers:
    """Times in seconds; imbalance is the most work of a replica, in seconds, over the mean."""
    found = sum(min(ceil(job.cached / BLOCK_TOKENS), len(job.arrival.blocks)) for job in run.jobs)
    waits = sorted(job.ttft_s for job in run.jobs)
    share = found / scenario.blocks / scenario.ceiling if scenario.ceiling else 1.0
    return {
        "hit_share_of_ceiling": round(share, 4),
        "imbalance": round(max(run.work_s) * len(run.work_s) / sum(run.work_s), 4),
        **{f"ttft_p{p}_s": round(quantile(waits, p), 3) for p in (50, 90, 99)},
    }


def quantile(ascending: Sequence[float], percent: int) -> float:
    """Nearest rank."""
    return ascending[max(0, ceil(len(ascending) * percent / 100) - 1)]


def show(results: Sequence[Result], console: Console) -> None:
    for result in results:
        title = f"{result.scenario.name}, load {result.scenario.load:.0%}, ceiling {result.scenario.ceiling:.1%}"
        table = Table("", *COLUMNS, title=title)
        for name, row in {"ours": result.ours, **result.rivals}.items():
            table.add_row(name, *(f"{row[column]:.3f}" for column in COLUMNS))
        console.print(table)


def as_json(results: Sequence[Result]) -> Mapping[str, object]:
    """The first scenario at the top: `ours`, and each rival both under its own name and among `rivals`. All scenarios, each
    with its `ours` and `rivals`, under `scenarios`."""
    rows = [
        {
            "scenario": result.scenario.name,
            "load": result.scenario.load,
            "ceiling_hit_rate": round(result.scenario.ceiling, 4),
            "ours": result.ours,
            "rivals": result.rivals,
        }
        for result in results
    ]
    return {**rows[0], **results[0].rivals, "scenarios": rows}


def in_a_row(results: Sequence[Result]) -> str:
    """For the ledger: ours, and the best of the others by TTFT p90."""
    told = (
        f"{r.scenario.name} {r.scenario.load:.0%}: hits {r.ours['hit_share_of_ceiling']:.3f} of the ceiling, imbalance "
        f"{r.ours['imbalance']:.2f}, TTFT p90 {r.ours['ttft_p90_s']:.2f} s ({r.best_rival} "
        f"{r.rivals[r.best_rival]['ttft_p90_s']:.2f})"
        for r in results
    )
    return "; ".join(told)
