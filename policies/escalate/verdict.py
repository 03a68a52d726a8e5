"""From signals to a chance of being right, and from that to a verdict with its reason in words."""

from collections.abc import Mapping
from math import exp, log

import msgspec

from policies.escalate.measures import MEASURES
from policies.escalate.plan import Escalation, Weights
from policies.escalate.signals import Signals

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
    """`escalates`: the answer is not good enough. `why` in a few words, for headers and logs."""

    p_correct: float
    escalates: bool
    why: str


def verdict(plan: Escalation, model: str, signals: Signals, p_good: float | None = None) -> Verdict:
    """Of an answer of `model`; `p_good` is what the router thought of the question, if it did.

    >>> from policies.escalate.prior import PRIOR
    >>> plan = Escalation(name="careful", to="large", under=0.7, signals=frozenset({"empty"}), weights={"": PRIOR})
    >>> verdict(plan, "small", Signals(whole=True, tokens=0, characters=0, empty=True)).why
    'p_correct 0.01 under 0.70: empty'
    """
    parts = contributions(plan, plan.weights_of(model), signals)
    p = p_correct(plan.weights_of(model), parts, p_good)
    if p >= plan.under:
        return Verdict(p_correct=p, escalates=False, why=f"p_correct {p:.2f}")
    against = dict.fromkeys(WORDS[name] for name, part in ranked(parts) if part <= -WORTH_NAMING)
    why = f"p_correct {p:.2f} under {plan.under:.2f}"
    return Verdict(p_correct=p, escalates=True, why=f"{why}: {', '.join(against)}" if against else why)


def contributions(plan: Escalation, weights: Weights, signals: Signals) -> dict[str, float]:
    """Log-odds that each measure adds, of the signals that the plan looks at."""
    return {
        name: weight * MEASURES[name][1](signals)
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
