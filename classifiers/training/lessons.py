"""What a log teaches: questions as numbers, each answered by one model or by two, and how well; then as arrays, with the gaps
filled."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.artefact import Artefact
from classifiers.features.numbers import Numbers
from classifiers.features.packing import make_of, unpack, unpack_static, width_of
from classifiers.heads.blend import mean_contrasts
from classifiers.heads.inputs import Floats, Inputs
from classifiers.outcomes.own import OutcomesRefused, first_and_last
from classifiers.training.filling import filled
from classifiers.training.learn import FEWEST
from policies.estimates import Ends

LEFT_OUT = "decisions are left out, whose policy is not beside the log: copy its folder policies/ too"
UNHEARD = "comparisons by shadows taught nothing: they failed, are of no decision here, or of prose without a judge"


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """One question. `quality` 0 to 1 by head, of those that answered it; `p_good` what was estimated then, empty where nothing
    was; `ends` what the quick stage of this artefact left open, None of a conversation of several turns. `weights` by head are
    those of answers that were there by a draw of their own, the others weigh as the question does. `stands`: heads whose answer
    was seen, and nobody can say how good it is."""

    numbers: Numbers
    quality: Mapping[str, float]
    p_good: Mapping[str, float]
    weight: float
    weights: Mapping[str, float] = {}
    stands: frozenset[str] = frozenset()
    artefact: str = ""
    ends: Ends | None = None


class Lessons(msgspec.Struct, frozen=True, kw_only=True):
    """Of one log. `counts` has the outcomes of each head by where they come from, `heads` in the order of the ladder;
    `numberless` questions have an outcome and no numbers, and are not among `rows`; `unheard` comparisons and decisions
    `without_policy` taught nothing."""

    name: str
    heads: tuple[str, ...]
    rows: Sequence[Lesson]
    counts: Mapping[str, Mapping[str, int]]
    numberless: int
    most_weight: float
    unheard: int = 0
    without_policy: int = 0


class Known(msgspec.Struct, frozen=True):
    """The rows as arrays, in an order without meaning: `observed` [n, models], `quality` with guesses where nobody answered,
    `before` what was estimated, `weight` [n] of the questions, `weights` [n, models] of the answers. `ends` [n, 2] are the
    gains at both ends of the quick stage, NaN where there were none; `static` float32 [n, width], None where a question has no
    static vector."""

    inputs: Inputs
    quality: Floats
    observed: NDArray[np.bool_]
    before: Floats
    weight: Floats
    weights: Floats
    ends: Floats
    static: NDArray[np.float32] | None

    def take(self, rows: NDArray[np.intp]) -> "Known":
        """The rows at these positions, in this order."""
        return Known(
            self.inputs.take(rows), self.quality[rows], self.observed[rows], self.before[rows], self.weight[rows],
            self.weights[rows], self.ends[rows], None if self.static is None else self.static[rows],
        )  # fmt: skip


def arrayed(lessons: Lessons, heads: Sequence[str], encoder: str, opened: Artefact | None = None) -> Known:
    """`opened` says what was estimated before, where that is not what the log has. Embeddings of another width than
    its, or than most here have, are of another encoder of that name. Raises OutcomesRefused."""
    rows = [row for row in lessons.rows if row.numbers.made_by == make_of(encoder)]
    widths = Counter(width_of(row.numbers) for row in rows)
    width = len(opened.probe) if opened is not None else max(widths, key=widths.__getitem__, default=0)
    rows = [row for row in rows if width_of(row.numbers) == width]
    refuse_few(lessons, heads, rows, encoder)
    rows = sorted(rows, key=lambda row: row.numbers.vector)
    inputs, weight = unpack([row.numbers for row in rows]), np.array([row.weight for row in rows])
    told = np.array([[row.quality.get(head, np.nan) for head in heads] for row in rows])
    weights = np.array([[row.weights.get(head, row.weight) for head in heads] for row in rows])
    stands = np.array([[head in row.stands for head in heads] for row in rows])
    observed = ~np.isnan(told)
    before = (
        estimated(heads, rows, told, weights)
        if opened is None
        else opened.blend.scale.apply(mean_contrasts(opened.blend.members, inputs))
    )
    ends = np.array([ends_of(row, heads, opened) for row in rows])
    static = unpack_static([row.numbers for row in rows])
    quality = filled(inputs, told, before, weights, stands)
    return Known(inputs, quality, observed, before, weight, weights, ends, static)


def ends_of(row: Lesson, heads: Sequence[str], opened: Artefact | None) -> tuple[float, float]:
    """The gains between which the quick stage of this artefact saw this question; NaN where it was not asked."""
    if opened is None or row.ends is None or row.artefact != opened.calibration.artefact:
        return np.nan, np.nan
    first, last = first_and_last(heads)
    low, high = (end[heads[last]] - end[heads[first]] for end in row.ends)
    return low, high


def refuse_few(lessons: Lessons, heads: Sequence[str], rows: Sequence[Lesson], encoder: str) -> None:
    """Raises OutcomesRefused, saying what is there of each model and what is missing."""
    enough = {head: sum(head in row.quality for row in rows) for head in heads}
    if len(heads) > 1 and all(count >= FEWEST for count in enough.values()):
        return
    there = ", ".join(f"{count} of {head}" for head, count in enough.items())
    none = "no " if not any(enough.values()) else ""
    what = f"has {none}outcomes to learn from" + (f": {there}" if there else "")
    other = len(lessons.rows) - len(rows)
    missing = [
        f"{lessons.numberless} more have no numbers: set TURNOUT_DECISIONS__NUMBERS=true" if lessons.numberless else "",
        f"{other} more have numbers of another encoder or release than {encoder}" if other else "",
        f"{lessons.unheard} {UNHEARD}" if lessons.unheard else "",
        f"{lessons.without_policy} {LEFT_OUT}" if lessons.without_policy else "",
    ]
    told = "; ".join([f"{lessons.name} {what}; {FEWEST} of each model are the least", *filter(None, missing)])
    raise OutcomesRefused(told)


def estimated(heads: Sequence[str], rows: Sequence[Lesson], told: Floats, weights: Floats) -> Floats:
    """What the log estimated, [n, models]; of who was not estimated the mean of what was told."""
    known = np.array([[row.p_good.get(head, np.nan) for head in heads] for row in rows])
    for at in range(len(heads)):
        seen = ~np.isnan(told[:, at])
        mean = float(np.average(told[seen, at], weights=weights[seen, at]))
        known[np.isnan(known[:, at]), at] = mean
    return known
