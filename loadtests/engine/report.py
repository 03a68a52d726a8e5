"""The results as text: a table of contenders, one of tasks, one of goals."""

from collections.abc import Iterator, Mapping

from loadtests.engine.contenders import Tree
from loadtests.engine.goals import GOALS
from loadtests.engine.summary import at, branch
from loadtests.engine.workload import BATCHES

GROUPS = ("ours", "torch", "peers")


def _cell(value: float | None, width: int, places: int = 0) -> str:
    return f"{'' if value is None else format(value, f'.{places}f'):>{width}}"


def speeds(results: Tree) -> Iterator[str]:
    heads = "".join(f"{f'b{batch}':>8}" for batch in BATCHES)
    yield f"{'tokens/s, medians':<26}{heads}{'prefill':>9}{'TTFT ms':>9}{'bound':>8}{'share':>7}{'load s':>8}{'peak MB':>9}"
    for group in GROUPS:
        for name in branch(results, (group,)):
            yield _speed_row(results, group, name)


def _speed_row(results: Tree, group: str, name: str) -> str:
    def of(*path: str) -> float | None:
        return at(results, (group, name, *path))

    decodes = "".join(_cell(of("decode_tps", str(batch)), 8) for batch in BATCHES)
    share, low, high = of("bandwidth_share"), *_range(results, group, name)
    tail = _cell(of("bandwidth_bound_tps"), 8) + _cell(share, 7, 2) + _cell(of("load_s"), 8, 1)
    tail += _cell(of("memory_mb", "peak"), 9)
    head = f"{f'{group} {name}':<26}{decodes}{_cell(of('prefill_tps'), 9)}{_cell(of('ttft_ms'), 9)}"
    return f"{head}{tail}   b1 {low:.0f} to {high:.0f}"


def _range(results: Tree, group: str, name: str) -> tuple[float, float]:
    """The least and the most of batch 1 over the rounds."""
    found = branch(results, ("spread", group, name, "decode_tps")).get("1")
    return (found[0], found[1]) if isinstance(found, list) else (0.0, 0.0)


def speculation(results: Tree) -> Iterator[str]:
    tasks = branch(results, ("speculation",))
    if not tasks:
        return
    yield f"{'n-gram drafts':<26}{'plain':>8}{'speedup':>9}{'whole':>8}{'tokens/step':>13}"
    for task, figures in tasks.items():
        if isinstance(figures, Mapping) and "speedup" in figures:
            cells = [figures[key] for key in ("plain_tps", "speedup", "whole_speedup", "tokens_per_step")]
            yield f"{task:<26}{cells[0]:>8.0f}{cells[1]:>9.2f}{cells[2]:>8.2f}{cells[3]:>13.2f}"
    crowds = branch(results, ("speculation", "batches"))
    yield "chat in batches of " + ", ".join(f"{size}: {value:.2f}" for size, value in crowds.items())
    yield f"greedy output identical: {'yes' if results['greedy_identical'] else 'NO'}"


def goals(results: Tree) -> Iterator[str]:
    yield f"{'goal':<36}{'measured':>9}{'gate':>7}{'aim':>7}"
    for goal in GOALS:
        value = goal.value(results)
        verdict = "not measured" if value is None else goal.verdict(value)
        yield f"{goal.name:<36}{_cell(value, 9, 2)}{goal.gate:>7g}{goal.aim:>7g}  {verdict}"


def neighbours(results: Tree) -> Iterator[str]:
    busy = branch(results, ("neighbours",))
    yield "cores kept busy by others, per round: " + "; ".join(
        f"{name} " + " ".join(f"{share:.2f}" for share in shares)
        for name, shares in busy.items()
        if isinstance(shares, list)
    )
    for name, why in branch(results, ("failed",)).items():
        yield f"{name} gave no numbers: {why}"


def page(results: Tree) -> str:
    parts = (speeds(results), speculation(results), goals(results), neighbours(results))
    return "\n\n".join(text for part in parts if (text := "\n".join(part)))


def in_short(results: Tree) -> str:
    """For the ledger: speeds, then every goal that was measured."""
    paths = (("decode_tps", "1"), ("decode_tps", "16"), ("prefill_tps",))
    rows = [
        f"{group} {name} {'/'.join(_plain(at(results, (group, name, *path))) for path in paths)}"
        for group in GROUPS
        for name in branch(results, (group,))
    ]
    met = [f"{goal.name} {value:.2f}" for goal in GOALS if (value := goal.value(results)) is not None]
    return "tok/s b1/b16/prefill: " + "; ".join(rows) + ". " + "; ".join(met)


def _plain(value: float | None) -> str:
    return "-" if value is None else f"{value:.0f}"
