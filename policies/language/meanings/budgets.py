"""`budgets:` as deciding uses them, and what a file may say of them that makes no sense."""

from collections import Counter
from collections.abc import Iterator, Sequence

from policies.budgets.plan import SECONDS_A_MINUTE, Budget
from policies.language.draft import Draft
from policies.language.faults import did_you_mean
from policies.language.meanings.inherit import inherited
from policies.language.problem import Problem
from policies.language.sections.budgets import BudgetEntry
from policies.language.tree import Path


def compile_budgets(entries: Sequence[BudgetEntry]) -> tuple[Budget, ...]:
    """The budgets of a file that makes sense."""
    return tuple([_budget(entry) for entry in entries])


def name_of(entry: BudgetEntry) -> str:
    return entry.name or f"{entry.per}-{entry.limit.period}"


def budget_names(draft: Draft) -> Iterator[Problem]:
    """Models that are named but not declared."""
    for i, entry in enumerate(draft.file.budgets):
        lesser = entry.when_spent
        if lesser:
            yield from draft.undeclared(("budgets", i, "when_spent", "downgrade_to"), lesser)


def budget_meaning(draft: Draft) -> Iterator[Problem]:
    """Two budgets of one name; a burst of what does not flow; money of models whose price nobody knows."""
    seen = Counter(name_of(entry) for entry in draft.file.budgets)
    for i, entry in enumerate(draft.file.budgets):
        here: Path = ("budgets", i)
        if seen[name_of(entry)] > 1:
            yield draft.at_key(here, f"is called {name_of(entry)}, as another budget is; give it a name of its own")
        if entry.burst is not None and entry.limit.period != "min":
            told = f"goes with a limit for a minute; all of {entry.limit.told} may be taken at once"
            yield draft.at_key((*here, "burst"), told)
        if entry.limit.unit == "microusd":
            yield from _unpriced(draft, here)
    yield from _tested(draft)


def _tested(draft: Draft) -> Iterator[Problem]:
    """The file's own tests know its budgets."""
    known = [name_of(entry) for entry in draft.file.budgets]
    for i, test in enumerate(draft.file.tests):
        for j, name in enumerate(test.given.spent or ()):
            if name not in known:
                told = f"names the budget {name}, which there is not{did_you_mean(name, known)}"
                yield draft.at_value(("tests", i, "given", "spent", j), told)


def _unpriced(draft: Draft, here: Path) -> Iterator[Problem]:
    models = draft.file.models
    unknown = [name for name in models if inherited(models, name).price is None]
    if unknown:
        told = (
            f"is money, but {', '.join(unknown)} has no price; state it, and price: {{input: $0/M, output: $0/M}} "
            "where it is free"
        )
        yield draft.at_value((*here, "limit"), told)


def _budget(entry: BudgetEntry) -> Budget:
    limit = entry.limit
    at_once = limit.amount if entry.burst is None else round(limit.amount * entry.burst / SECONDS_A_MINUTE)
    return Budget(
        name=name_of(entry),
        per=entry.per,
        unit=limit.unit,
        limit=limit.amount,
        period=limit.period,
        at_once=max(1, at_once),
        told=limit.told,
        downgrade_to=entry.when_spent,
        when_away=entry.if_store_is_down,
    )
