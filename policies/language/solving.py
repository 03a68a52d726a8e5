"""Targets of the file, solved on the calibration sample of its artefact."""

from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from statistics import fmean

from policies.catalogue import Model, Price
from policies.estimates import Calibration
from policies.language.draft import Draft
from policies.language.problem import Problem
from policies.language.sections.routes import ChooseEntry
from policies.language.tree import Path
from policies.policy import Choose, Target
from policies.targets import (
    ASSUMED_PROMPT_TOKENS,
    Infeasible,
    Rung,
    Solved,
    can_be_had,
    mixes,
    relative_costs,
    solve,
    stand_in_prices,
)
from policies.terms.cost import EXPECTED_OUTPUT_TOKENS, charge

WORSE = 0.01
"""By so much a chance has to be lower on average, so that no artefact of tomorrow turns a ladder of equals around."""

Calibrate = Callable[[str], Calibration]
"""The calibration sample of an artefact. Raises OSError or ValueError where there is none."""


def solve_routes(
    draft: Draft, models: Mapping[str, Model], calibrate: Calibrate
) -> tuple[list[Choose | None], list[Problem]]:
    """The solved choice of each route (None: it has none, or a problem)."""
    choices: list[Choose | None] = [None] * len(draft.file.routes)
    choosing = [(i, route.choose) for i, route in enumerate(draft.file.routes) if route.choose is not None]
    if not choosing:
        return choices, []
    sample = _sample(draft, calibrate)
    if isinstance(sample, Problem):
        return choices, [sample]
    problems: list[Problem] = []
    for i, entry in choosing:
        found = _solve_route(draft, ("routes", i, "choose"), entry, models, sample)
        if isinstance(found, Choose):
            choices[i] = found
        else:
            problems.extend(found)
    return choices, problems


def _sample(draft: Draft, calibrate: Calibrate) -> Calibration | Problem:
    try:
        return calibrate(draft.file.difficulty.artefact)
    except (OSError, ValueError) as error:
        return draft.at_value(("difficulty", "artefact"), f"cannot be used: {error}")


def _solve_route(
    draft: Draft, here: Path, entry: ChooseEntry, models: Mapping[str, Model], sample: Calibration
) -> Choose | list[Problem]:
    target = target_of(entry)
    faults = [*_headless(draft, here, entry, models, sample), *_priceless(draft, entry)]
    faults = faults or _upside_down(draft, here, entry, models, sample)
    if faults:
        return faults
    prices = _prices(draft, entry, models)
    costs = relative_costs(prices, target.of)
    at: Path = (*here, "target", target.kind)
    if costs is None:
        return [draft.at_value(at, f"is a share of what {target.of} costs, and {target.of} is free")]
    rungs = [Rung(name, costs[name], sample.p_good[models[name].head]) for name in entry.among]
    solved = solve(target, rungs)
    if isinstance(solved, Infeasible):
        return [draft.at_value(at, f"cannot be held: {solved.why}")]
    floor = floor_of(entry)
    if floor is not None and (told := below(floor, solved, rungs)):
        return [draft.at_key((*here, "floor"), f"cannot be held: {target} {told}")]
    return Choose(
        among=tuple(entry.among),
        target=target,
        floor=floor,
        when_unsure=entry.when_unsure or target.of,
        prices=prices,
        relative_cost=costs,
        loss_per_reference=solved.loss,
        expected=solved.expected,
        adapts=entry.adapt == "on",
    )


def target_of(entry: ChooseEntry) -> Target:
    """The target as deciding states it."""
    if entry.target.cost is not None:
        return Target("cost", entry.target.cost.percent, entry.target.cost.of)
    assert entry.target.quality is not None
    return Target("quality", entry.target.quality.percent, entry.target.quality.of)


def floor_of(entry: ChooseEntry) -> Target | None:
    """The floor as deciding states it."""
    return None if entry.floor is None else Target("quality", entry.floor.quality.percent, entry.floor.quality.of)


def below(floor: Target, solved: Solved, rungs: Sequence[Rung]) -> str:
    """How far a solved target stays below its floor, and what would reach it; "" where it does not."""
    gives = solved.expected.quality_percent
    if gives >= floor.percent:
        return ""
    enough = solve(floor, rungs)
    if isinstance(enough, Infeasible):
        needs = enough.why
    else:
        needs = f"that needs cost {enough.expected.cost_percent:.1f}%{can_be_had(mixes(rungs, floor.of))}"
    return f"gives {gives:.1f}% of its quality, less than {floor.percent:g}%; {needs}"


def _headless(
    draft: Draft, here: Path, entry: ChooseEntry, models: Mapping[str, Model], sample: Calibration
) -> list[Problem]:
    """Models of the ladder for which the artefact has no head."""
    heads = ", ".join(sorted(sample.p_good))
    found = []
    for i, name in enumerate(entry.among):
        head = models[name].head
        if head not in sample.p_good:
            which = f"no head of the difficulty artefact; its heads are: {heads}"
            if draft.file.models[name].head is not None:
                found.append(draft.at_value(("models", name, "head"), f"is {head}, which is {which}"))
            else:
                told = f"names {name}, which is {which}; add head: ... to models.{name}"
                found.append(draft.at_value((*here, "among", i), told))
    return found


def _priceless(draft: Draft, entry: ChooseEntry) -> list[Problem]:
    """Models without a price in a ladder where others have one."""
    without = [name for name in entry.among if not _has_price(draft, name)]
    if len(without) in (0, len(entry.among)):
        return []
    example = "price: {input: $0.05/M, output: $0.20/M}"
    told = f"has no price, which a target needs where other models of the ladder have one: add {example} ($0/M if free)"
    return [draft.at_key(("models", name), told) for name in without]


def _upside_down(
    draft: Draft, here: Path, entry: ChooseEntry, models: Mapping[str, Model], sample: Calibration
) -> list[Problem]:
    """A tier above one that answers better and costs no less: "up" would lead down."""
    priced = any(_has_price(draft, name) for name in entry.among)
    for at, (lower, upper) in enumerate(pairwise(entry.among), 1):
        less, more = ((fmean(sample.p_good[models[name].head]), _charge(models[name])) for name in (lower, upper))
        if more[0] < less[0] - WORSE and (not priced or more[1] <= less[1]):
            costs = " and costs no more" if priced else ""
            told = f"goes from the lowest tier to the highest, but {upper}, after {lower}, answers worse{costs}"
            return [draft.at_value((*here, "among", at), f"{told}: write {upper} before {lower}")]
    return []


def _charge(model: Model) -> float:
    return charge(model.price, ASSUMED_PROMPT_TOKENS, EXPECTED_OUTPUT_TOKENS)


def _has_price(draft: Draft, name: str) -> bool:
    entry = draft.file.models[name]
    return entry.price is not None or (entry.like is not None and _has_price(draft, entry.like))


def _prices(draft: Draft, entry: ChooseEntry, models: Mapping[str, Model]) -> Mapping[str, Price]:
    if any(_has_price(draft, name) for name in entry.among):
        return {name: models[name].price for name in entry.among}
    return stand_in_prices(entry.among)
