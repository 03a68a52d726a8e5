"""How often an interval of the calibration error holds the truth: `python -m loadtests.ece_intervals [--times N] [--ledger]`.

Worlds whose truth is known: chances that are exact, off by a tenth, too sure of themselves, or off by a lot, and outcomes that
are marks (0 or 1) or the mean of five. Beside ours the percentile bootstrap and the basic one.
"""

import argparse
import json
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from classifiers.measuring.ece_interval import ece_interval
from classifiers.measuring.metrics import ece
from loadtests.ledger import add_row

Floats = NDArray[np.float64]
SIZES, MARKS, RESAMPLES = (40, 200, 400, 1500), (1, 5), 60


def logit(p: Floats, slope: float) -> Floats:
    """Chances whose log-odds are these times `slope`."""
    return np.asarray(1 / (1 + ((1 - p) / p) ** slope), np.float64)


WORLDS: Mapping[str, Callable[[Floats], Floats]] = {
    "exact": lambda p: p,
    "a tenth": lambda p: np.clip(p + 0.1, 0, 1),
    "a little sure": lambda p: logit(p, 0.8),
    "too sure": lambda p: logit(p, 0.5),
    "far": lambda p: np.clip(p - 0.3, 0, 1),
}


def chances(size: int, dice: np.random.Generator) -> Floats:
    return np.clip(dice.beta(2, 1.2, size), 0.01, 0.99)


def held(world: str, size: int, marks: int, times: int) -> dict[str, float]:
    """Of so many samples, the part whose interval holds the truth, by kind of interval."""
    dice, truly = np.random.default_rng(size), WORLDS[world]
    many = chances(200_000, np.random.default_rng(9))
    truth = float(abs(truly(many) - many).mean())
    found = dict.fromkeys(("ours", "percentile", "basic"), 0)
    for _ in range(times):
        said = chances(size, dice)
        came = dice.binomial(marks, truly(said)) / marks
        told, drawn = ece(said, came), dice.integers(0, size, (RESAMPLES, size))
        low, high = np.percentile([ece(said[rows], came[rows]) for rows in drawn], [2.5, 97.5])
        spans = {
            "ours": ece_interval(said, came),
            "percentile": (low, high),
            "basic": (max(0.0, 2 * told - high), 2 * told - low),
        }
        for kind, (least, most) in spans.items():
            found[kind] += bool(least <= truth <= most)
    return {kind: round(count / times, 2) for kind, count in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=300, help="samples of each world")
    parser.add_argument("--ledger", action="store_true")
    told = parser.parse_args()
    result = {
        f"{world}, {size}, {marks}": held(world, size, marks, told.times)
        for marks in MARKS
        for world in WORLDS
        for size in SIZES
    }
    print(json.dumps(result, indent=1))
    if told.ledger:
        add_row("coverage of the calibration error's interval", "invented worlds of known truth", json.dumps(result))


if __name__ == "__main__":
    main()
