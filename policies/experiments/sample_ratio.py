"""Do the variants get the share of units that they should? Sequential multinomial test (Lindon and Malek, 2011.03567).

A share that is off means that units get lost on the way, of one variant more than of others; then nothing else that the
experiment says can be trusted.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec

from policies.experiments.quantiles import log_beta

CERTAINTY = 10_000.0
"""Units that the declared shares are worth: deviations of about 1/sqrt(this) are what it is sharpest for."""


class Shares(msgspec.Struct, frozen=True):
    """Units seen and units expected by variant, and the log of the e-value against "shares are as declared"."""

    seen: Mapping[str, float] = {}
    expected: Mapping[str, float] = {}
    log_e: float = 0.0


def see(shares: Shares, variant: str, chances: Mapping[str, float], certainty: float = CERTAINTY) -> Shares:
    """After one more unit in `variant`, when each variant had this chance. Chances may change from unit to unit; while they
    do not, this is the mixture over a Dirichlet distribution, to the digit.

    >>> found = Shares()
    >>> for _ in range(2_000):
    ...     found = see(found, "control", {"control": 0.5, "treat": 0.5})
    >>> found.log_e > math.log(1_000)
    True
    """
    guesses = {name: chance * _excess(shares, name, chance, certainty) for name, chance in chances.items()}
    gain = math.log(guesses[variant] / sum(guesses.values()) / chances[variant])
    seen = {**shares.seen, variant: shares.seen.get(variant, 0.0) + 1}
    expected = {name: shares.expected.get(name, 0.0) + chance for name, chance in chances.items()}
    return Shares(seen, {**shares.expected, **expected}, shares.log_e + gain)


def _excess(shares: Shares, name: str, chance: float, certainty: float) -> float:
    believed = certainty * chance
    return (believed + shares.seen.get(name, 0.0)) / (believed + shares.expected.get(name, 0.0))


def log_bayes_factor(seen: Sequence[float], prior: Sequence[float], chances: Sequence[float]) -> float:
    """The same in closed form, for chances that never changed: `prior` are the Dirichlet's parameters.

    >>> round(log_bayes_factor((2, 2, 1), (1, 1, 1), (0.4, 0.4, 0.2)), 12)
    -1.171118979455
    """
    grown = _log_dirichlet([a + n for a, n in zip(prior, seen, strict=True)]) - _log_dirichlet(prior)
    return grown - sum(n * math.log(p) for n, p in zip(seen, chances, strict=True))


def _log_dirichlet(parameters: Sequence[float]) -> float:
    if len(parameters) == 2:
        return log_beta(*parameters)
    return sum(map(math.lgamma, parameters)) - math.lgamma(sum(parameters))
