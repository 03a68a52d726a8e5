"""Signals as numbers that a logistic can add up: 0 where there is nothing to say, and bounded, so that none shouts."""

from collections.abc import Callable, Mapping
from math import log

from policies.escalate.plan import Signal
from policies.escalate.signals import Signals

TYPICAL_LOW, TYPICAL_MIDDLE, TYPICAL_DIP = -1.0, -0.05, -0.6
"""Log-probabilities of an ordinary answer, sampled at temperature 1: an unknown one counts as ordinary."""

LOWEST = -6.0
USUAL_CHARACTERS = 400

MEASURES: Mapping[str, tuple[Signal, Callable[[Signals], float]]] = {
    "low": ("token_quantiles", lambda s: _above(s.low, TYPICAL_LOW)),
    "middle": ("token_quantiles", lambda s: _above(s.middle, TYPICAL_MIDDLE)),
    "dip": ("token_quantiles", lambda s: _above(s.dip, TYPICAL_DIP)),
    "empty": ("empty", lambda s: float(s.empty)),
    "refusal": ("refusal", lambda s: float(s.refusal)),
    "repetition": ("repetition", lambda s: max(0.0, s.repetition - 0.2)),
    "misshapen": ("schema_valid", lambda s: float(s.misshapen)),
    "cut": ("cut", lambda s: float(s.cut)),
    "false_sum": ("sums", lambda s: float(s.false_sums > 0)),
    "fraction": ("sums", lambda s: float(s.fraction)),
    "length": ("length", lambda s: log((1 + s.characters) / (1 + USUAL_CHARACTERS)) if s.whole else 0.0),
}
"""Name -> the signal of the policy file that it belongs to, and its value."""


def _above(value: float | None, typical: float) -> float:
    return 0.0 if value is None else max(value, LOWEST) - typical
