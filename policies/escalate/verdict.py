"""From signals to a chance of being right, and from that to a verdict with its reason in words."""

from collections.abc import Mapping
from math import exp, log

import msgspec

from policies.escalate.measures import MEASURES, measures_of
from policies.escalate.plan import Escalation, Weights
from policies.escalate.signals import Signals
from policies.escalate.task import Task

WORDS: Mapping[str, str] = {
    "low": "unlikely tokens",
    "middle": "unlikely tokens",
    "dip": "an unlikely stretch",
    "empty": "empty",
    "refusal": "a refusal",
    "repetition": "repetition",
    "misshapen": "not the form asked for",
    "cut": "cut off by its length",
    "false_step": "a sum that does not hold",
    "steps": "its steps",
    "unused": "numbers left out",
    "invented": "numbers from nowhere",
    "idle": "results left unused",
    "loose_end": "an end that does not follow",
    "hedges": "hedging",
    "fraction": "a fraction",
    "nothing": "nothing left",
    "agreement": "another model disagrees",
    "length": "its length",
    "question": "a long question",
}
"""What a measure that counts against an answer is called."""

WORTH_NAMING = 0.25
"""Log-odds."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """`escalates`: the answer is not good enough. `why` in a few words, for headers and logs. `weighed_as` is the task whose
    weights spoke, "" where the model's did; with `measures` a log comes to the same chance."""

    p_correct: float
    escalates: bool
    why: str
    weighed_as: Task = ""
    measures: Mapping[str, float] = {}


def verdict(plan: Escalation, model: str, signals: Signals, p_good: float | None = None, task: Task = "") -> Verdict:
    """Of an answer of `model`; `p_good` is what the router thought of the question, if it did, `task` what that asks for.

    >>> from policies.escalate.prior import PRIOR
    >>> plan = Escalation(name="careful", to="large", under=0.7, signals=frozenset({"empty"}), weights={"": PRIOR})
    >>> verdict(plan, "small", Signals(whole=True, tokens=0, characters=0, empty=True)).why
    'p_correct 0.01 under 0.70: empty'
    """
    return verdict_on(plan, model, measures_of(signals), p_good, task)


def verdict_on(
    plan: Escalation, model: str, measures: Mapping[str, float], p_good: float | None, task: Task
) -> Verdict:
    """The same of measures, as a log has them."""
    weighed_as = plan.weighed_as(model, task)
    weights = plan.weights_of(model)
    weights = weights.tasks[weighed_as] if weighed_as else weights
    parts = contributions(plan, weights, measures)
    p = p_correct(weights, parts, p_good)
    escalates, why = p < plan.under, f"p_correct {p:.2f}"
    if escalates:
        against = dict.fromkeys(WORDS[name] for name, part in ranked(parts) if part <= -WORTH_NAMING)
        why += f" under {plan.under:.2f}{f', weighed as {weighed_as}' if weighed_as else ''}"
        why += f": {', '.join(against)}" if against else ""
    return Verdict(p_correct=p, escalates=escalates, why=why, weighed_as=weighed_as, measures=measures)


def contributions(plan: Escalation, weights: Weights, measures: Mapping[str, float]) -> dict[str, float]:
    """Log-odds that each measure adds, of the signals that the plan looks at."""
    return {
        name: weight * measures.get(name, 0.0)
        for name, weight in weights.measures.items()
        if MEASURES[name][0] in plan.signals
    }


def p_correct(weights: Weights, parts: Mapping[str, float], p_good: float | None) -> float:
    odds = weights.bias + sum(parts.values())
    if p_good is not None and weights.estimate:
        odds += weights.estimate * (log_odds(p_good) - weights.usual)
    return 1 / (1 + exp(-max(-30.0, min(30.0, odds))))


def log_odds(p: float) -> float:
    bounded = max(0.02, min(0.98, p))
    return log(bounded / (1 - bounded))


def ranked(parts: Mapping[str, float]) -> list[tuple[str, float]]:
    return sorted(parts.items(), key=lambda part: part[1])
