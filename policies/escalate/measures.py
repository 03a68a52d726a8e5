"""Signals as numbers that a logistic can add up: 0 where there is nothing to say, and bounded, so that none shouts."""

from collections.abc import Callable, Mapping
from math import log

from policies.escalate.plan import Signal
from policies.escalate.signals import Signals

TYPICAL_LOW, TYPICAL_MIDDLE, TYPICAL_DIP = -1.0, -0.05, -0.6
"""Log-probabilities of an ordinary answer, sampled at temperature 1: an unknown one counts as ordinary."""

LOWEST = -6.0
USUAL_STEPS, MOST_STEPS = 3, 12
USUAL_CHARACTERS, USUAL_QUESTION = 400, 200

MEASURES: Mapping[str, tuple[Signal, Callable[[Signals], float]]] = {
    "low": ("token_quantiles", lambda s: _above(s.low, TYPICAL_LOW)),
    "middle": ("token_quantiles", lambda s: _above(s.middle, TYPICAL_MIDDLE)),
    "dip": ("token_quantiles", lambda s: _above(s.dip, TYPICAL_DIP)),
    "empty": ("empty", lambda s: float(s.empty)),
    "refusal": ("refusal", lambda s: float(s.refusal)),
    "repetition": ("repetition", lambda s: max(0.0, s.repetition - 0.2)),
    "misshapen": ("schema_valid", lambda s: float(s.misshapen)),
    "cut": ("cut", lambda s: float(s.cut)),
    "false_step": ("reckoning", lambda s: float(s.reckoning.false_steps > 0)),
    "steps": ("reckoning", lambda s: float(min(s.reckoning.steps, MOST_STEPS) - USUAL_STEPS) if s.whole else 0.0),
    "unused": ("reckoning", lambda s: s.reckoning.unused if s.whole and s.reckoning.steps else 0.0),
    "invented": ("reckoning", lambda s: float(min(s.reckoning.invented, 5))),
    "idle": ("reckoning", lambda s: float(min(s.reckoning.idle, 5)) if s.whole else 0.0),
    "loose_end": ("reckoning", lambda s: float(s.whole and s.reckoning.loose_end)),
    "hedges": ("reckoning", lambda s: float(s.reckoning.hedges)),
    "fraction": ("reckoning", lambda s: float(s.comes_to is not None and not s.comes_to.is_integer())),
    "nothing": ("reckoning", lambda s: float(s.comes_to is not None and s.comes_to <= 0)),
    "agreement": ("agreement", lambda s: 0.0 if s.agrees is None else 1.0 if s.agrees else -1.0),
    "length": ("length", lambda s: _times(s.characters, USUAL_CHARACTERS) if s.whole else 0.0),
    "question": ("length", lambda s: _times(s.asked_characters, USUAL_QUESTION)),
}
"""Name -> the signal of the policy file that it belongs to, and its value."""

DIGITS = 4
"""That are kept of a value, so that a log which holds it comes to the same chance."""


def measures_of(signals: Signals) -> dict[str, float]:
    """All that have something to say.

    >>> measures_of(Signals(whole=False, tokens=9, characters=40, asked_characters=200, refusal=True))
    {'refusal': 1.0}
    """
    values = ((name, round(value(signals), DIGITS)) for name, (_, value) in MEASURES.items())
    return {name: value for name, value in values if value}


def _times(count: int, usual: int) -> float:
    """How many times the usual, as a logarithm."""
    return log((1 + count) / (1 + usual))


def _above(value: float | None, typical: float) -> float:
    return 0.0 if value is None else max(value, LOWEST) - typical
