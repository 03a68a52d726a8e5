"""How far what was learned from a log can be believed, of rows that it was not learned from."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np

from classifiers.heads.inputs import Floats
from classifiers.measuring import metrics
from classifiers.measuring.curves import Reliability, reliability
from classifiers.measuring.report import Cell, Report
from classifiers.stages import LEVEL, Stages
from classifiers.training.lessons import LEFT_OUT, UNHEARD, Known, Lessons

COLUMNS = ("model", "outcomes", "of", "mean quality", "ECE before", "ECE after")
ONE_ANSWER = "a log has one answer to most questions, so what the other models would have said is not known"
_TIMES = 10


class Judged(NamedTuple):
    """All rows, and the chances `after` [n, models] of those among them that were `unseen` then."""

    known: Known
    unseen: Known
    after: Floats


def measured(heads: Sequence[str], unseen: Known, after: Floats) -> dict[str, float]:
    """ECE by model, of the chances `after` [n, models] of rows that were not known then; none of a model that answered none."""
    eces = {head: off_by(unseen, after, at) for at, head in enumerate(heads)}
    return {f"ece_{head}": round(ece, 4) for head, ece in eces.items() if ece is not None}


def off_by(known: Known, chances: Floats, at: int) -> float | None:
    """The expected calibration error for the model at this place, None where it answered nothing."""
    rows = standing_for(known, at)
    return metrics.ece(chances[rows, at], known.quality[rows, at]) if len(rows) else None


def reliabilities(heads: Sequence[str], known: Known, chances: Floats) -> Mapping[str, Reliability]:
    """By model, over what was observed of each."""
    seen = {head: standing_for(known, at) for at, head in enumerate(heads)}
    return {
        head: _of_questions(reliability(chances[rows, at], known.quality[rows, at]))
        for at, (head, rows) in enumerate(seen.items())
        if len(rows)
    }


def standing_for(known: Known, at: int) -> metrics.Rows:
    """Rows that the model at this place answered, each ten times as often as it weighs, which may be 1.33: so they stand for
    all questions, not for those that went there."""
    seen = np.nonzero(known.observed[:, at])[0]
    return np.repeat(seen, np.rint(_TIMES * known.weights[seen, at]).astype(np.intp))


def _of_questions(found: Reliability) -> Reliability:
    return msgspec.structs.replace(found, prompts=tuple(round(count / _TIMES) for count in found.prompts))


def report(what: str, lessons: Lessons, heads: Sequence[str], judged: Judged, quick: str) -> Report:
    """`quick` is the last note."""
    known = judged.known
    rows = [_row(head, at, lessons.counts.get(head, {}), judged) for at, head in enumerate(heads)]
    heavy = float((known.weight >= lessons.most_weight).mean())
    notes = (
        f"rows weigh by the inverse of their choice's chance, at most {lessons.most_weight:g} ({heavy:.1%} of them do)",
        *([f"{lessons.unheard} {UNHEARD}"] if lessons.unheard else []),
        *([f"{lessons.without_policy} {LEFT_OUT}"] if lessons.without_policy else []),
        f"ECE is of {len(judged.unseen.weight)} questions that were kept back",
        f"{lessons.numberless} decisions with an outcome have no numbers and taught nothing",
        quick,
    )
    title = f"{what} on {len(known.weight)} questions of {lessons.name}"
    return Report(title=title, columns=COLUMNS, rows=tuple(rows), notes=notes)


def _row(head: str, at: int, counts: Mapping[str, int], judged: Judged) -> tuple[Cell, ...]:
    known, unseen, seen = judged.known, judged.unseen, judged.known.observed[:, at]
    mean = float(np.average(known.quality[seen, at], weights=known.weights[seen, at]))
    of = ", ".join(f"{source} {count}" for source, count in sorted(counts.items()))
    eces = [off_by(unseen, chances, at) for chances in (unseen.before, judged.after)]
    return (head, int(seen.sum()), of, mean, *eces)


def quick_of(stages: Stages | None) -> str:
    """Whether there is a quick stage, in words."""
    if stages is None:
        return (
            "no quick stage: not all questions have a static vector by this release's table, to tell how far it is off"
        )
    return f"a quick stage: the full gain lies in its interval with a probability of at least {LEVEL:.0%}"
