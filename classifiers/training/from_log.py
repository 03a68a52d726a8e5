"""A classifier from a gateway's own log: each question was answered by one model, and somebody said how well.

What the others would have said is filled in: the estimate of then, plus what answers of that model to alike questions were
better or worse than estimated. Rows weigh by the inverse of the chance with which their model was chosen, so that a question
that was sent to it by a draw stands for those that were not.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers import artefact
from classifiers.artefact import Artefact, Manifest
from classifiers.embedding.encoder import DEFAULT_NAME
from classifiers.embedding.store import Progress, open_store
from classifiers.features.lexical import NAMES
from classifiers.features.numbers import Numbers
from classifiers.features.packing import make_of, unpack, unpack_static
from classifiers.heads.blend import Blend, fit_scale, mean_contrasts
from classifiers.heads.inputs import Floats, Inputs, Targets
from classifiers.measuring import metrics
from classifiers.measuring.report import Report
from classifiers.measuring.score import gain
from classifiers.outcomes.own import OutcomesRefused, first_and_last
from classifiers.stages import LEVEL, Beside, Stages, fit_locally, fit_to_log
from classifiers.training.filling import crossed, filled
from classifiers.training.learn import FEWEST, learn
from classifiers.training.own import SAMPLE_ROWS, libraries
from policies.estimates import Ends

COLUMNS = ("model", "outcomes", "of", "mean quality", "ECE before", "ECE after")


class Lesson(msgspec.Struct, frozen=True, kw_only=True):
    """One question. `quality` 0 to 1 by head, of those that answered it; `p_good` what was estimated then, empty where nothing
    was; `ends` what the quick stage of this artefact left open, None of a conversation of several turns."""

    numbers: Numbers
    quality: Mapping[str, float]
    p_good: Mapping[str, float]
    weight: float
    artefact: str = ""
    ends: Ends | None = None


class Lessons(msgspec.Struct, frozen=True, kw_only=True):
    """Of one log. `counts` has the outcomes of each head by where they come from, `heads` in the order of the ladder;
    `numberless` questions have an outcome and no numbers, and are not among `rows`."""

    name: str
    heads: tuple[str, ...]
    rows: Sequence[Lesson]
    counts: Mapping[str, Mapping[str, int]]
    numberless: int
    most_weight: float


class Known(msgspec.Struct, frozen=True):
    """The rows as arrays, in an order without meaning: `observed` [n, models], `quality` with guesses where nobody answered,
    `before` what was estimated, `ends` [n, 2] the gains at both ends of the quick stage, NaN where there were none; `static`
    float32 [n, width], None where a question has no static vector."""

    inputs: Inputs
    quality: Floats
    observed: NDArray[np.bool_]
    before: Floats
    weight: Floats
    ends: Floats
    static: NDArray[np.float32] | None


def train_from_log(
    lessons: Lessons,
    out_dir: Path,
    *,
    cache_dir: Path,
    trained_on: str,
    embedder: str | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> Report:
    """Writes the artefact to `out_dir` and `report.json` beside it. It has a quick stage where all its questions have a static
    vector. Raises OutcomesRefused, EncoderMissing."""
    encoder = embedder or DEFAULT_NAME
    known = arrayed(lessons, lessons.heads, encoder)
    beside = None if known.static is None else Beside(Inputs(known.static, known.inputs.lexical))
    learned = learn(known.inputs, Targets(known.quality, known.weight), beside)
    after = known.before.copy()
    after[learned.kept] = learned.p_good
    told = measured(lessons.heads, known, after)
    manifest = Manifest(
        format=artefact.FORMAT, name=lessons.name, trained_on=trained_on, encoder=encoder, width=known.inputs.vectors.shape[1],
        features=NAMES, heads=lessons.heads, tensors_sha256="", card=card(lessons), metrics=told, libraries=libraries(),
    )  # fmt: skip
    probe = open_store(cache_dir, embedder, threads, progress).vectors([artefact.PROBE_TEXT])[0]
    artefact.save(out_dir, manifest, learned.blend, learned.p_good[:SAMPLE_ROWS], probe, stages=learned.stages)
    return written(report("trained", lessons, lessons.heads, known, after), quick_of(learned.stages), out_dir)


def calibrate_from_log(
    folder: Path | None, lessons: Lessons, out_dir: Path, *, trained_on: str, embedder: str | None = None
) -> Report:
    """The heads stay, what their numbers mean is learned anew, and the bounds of its stages. Raises ArtefactRefused,
    OutcomesRefused."""
    opened = artefact.load(folder or artefact.SHIPPED)
    heads = opened.manifest.heads
    known = arrayed(lessons, heads, embedder or opened.manifest.encoder, opened)
    said, targets = mean_contrasts(opened.blend.members, known.inputs), Targets(known.quality, known.weight)
    blend = Blend(opened.blend.members, fit_scale(said, targets))
    after = crossed(said, targets)
    manifest = msgspec.structs.replace(
        opened.manifest, trained_on=trained_on, metrics=measured(heads, known, after), libraries=libraries(),
        card={**opened.manifest.card, "calibrated_on": card(lessons)},
    )  # fmt: skip
    sample = blend.scale.apply(said)[:SAMPLE_ROWS]
    stages = stages_of(opened, known)
    artefact.save(out_dir, manifest, blend, sample, opened.probe, stages=stages)
    return written(report("calibrated", lessons, heads, known, after), quick_of(stages), out_dir)


def arrayed(lessons: Lessons, heads: Sequence[str], encoder: str, opened: Artefact | None = None) -> Known:
    """`opened` says what was estimated before, where that is not what the log has. Raises OutcomesRefused."""
    rows = [row for row in lessons.rows if row.numbers.made_by == make_of(encoder)]
    refuse_few(lessons, heads, rows, encoder)
    rows = sorted(rows, key=lambda row: row.numbers.vector)
    inputs, weight = unpack([row.numbers for row in rows]), np.array([row.weight for row in rows])
    told = np.array([[row.quality.get(head, np.nan) for head in heads] for row in rows])
    observed = ~np.isnan(told)
    before = (
        estimated(heads, rows, told, weight)
        if opened is None
        else opened.blend.scale.apply(mean_contrasts(opened.blend.members, inputs))
    )
    ends = np.array([ends_of(row, heads, opened) for row in rows])
    static = unpack_static([row.numbers for row in rows])
    return Known(inputs, filled(inputs, told, before, weight), observed, before, weight, ends, static)


def ends_of(row: Lesson, heads: Sequence[str], opened: Artefact | None) -> tuple[float, float]:
    """The gains between which the quick stage of this artefact saw this question; NaN where it was not asked."""
    if opened is None or row.ends is None or row.artefact != opened.calibration.artefact:
        return np.nan, np.nan
    first, last = first_and_last(heads)
    low, high = (end[heads[last]] - end[heads[first]] for end in row.ends)
    return low, high


def stages_of(opened: Artefact, known: Known) -> Stages | None:
    """None where neither all questions have a static vector nor 30 of them were seen by the quick stage: nothing would tell how
    far it is off here."""
    seen = ~np.isnan(known.ends[:, 0])
    if opened.stages is not None and known.static is not None:
        return fit_locally(
            opened.stages, opened.blend, known.inputs, Beside(Inputs(known.static, known.inputs.lexical))
        )
    if opened.stages is None or seen.sum() < FEWEST:
        return None
    gains = gain(known.before, opened.manifest.heads)
    return fit_to_log(opened.stages, opened.blend, known.inputs.vectors, known.ends[seen], gains[seen])


def refuse_few(lessons: Lessons, heads: Sequence[str], rows: Sequence[Lesson], encoder: str) -> None:
    """Raises OutcomesRefused, saying what is there of each model and what is missing."""
    enough = {head: sum(head in row.quality for row in rows) for head in heads}
    if len(heads) > 1 and all(count >= FEWEST for count in enough.values()):
        return
    there = ", ".join(f"{count} of {head}" for head, count in enough.items()) or "none of any model"
    other = len(lessons.rows) - len(rows)
    missing = [
        f"{lessons.numberless} more have no numbers: set TURNOUT_DECISIONS__NUMBERS=true" if lessons.numberless else "",
        f"{other} more have numbers of another encoder or release than {encoder}" if other else "",
    ]
    told = "; ".join(
        [f"{lessons.name} has outcomes to learn from: {there}; {FEWEST} of each are the least", *filter(None, missing)]
    )
    raise OutcomesRefused(told)


def estimated(heads: Sequence[str], rows: Sequence[Lesson], told: Floats, weight: Floats) -> Floats:
    """What the log estimated, [n, models]; of who was not estimated the mean of what was told."""
    known = np.array([[row.p_good.get(head, np.nan) for head in heads] for row in rows])
    for at in range(len(heads)):
        seen = ~np.isnan(told[:, at])
        mean = float(np.average(told[seen, at], weights=weight[seen]))
        known[np.isnan(known[:, at]), at] = mean
    return known


def measured(heads: Sequence[str], known: Known, after: Floats) -> dict[str, float]:
    """ECE by model, of chances by which rows were judged that were not known then."""
    return {f"ece_{head}": round(off_by(known, after, at), 4) for at, head in enumerate(heads)}


def off_by(known: Known, chances: Floats, at: int) -> float:
    """The expected calibration error for the model at this place, over what was observed of it; a row counts as often as it
    weighs, so that it is that of all questions, not of those that went there."""
    seen = np.nonzero(known.observed[:, at])[0]
    rows = np.repeat(seen, np.rint(known.weight[seen]).astype(np.intp))
    return metrics.ece(chances[rows, at], known.quality[rows, at])


def card(lessons: Lessons) -> dict[str, object]:
    return {
        "predicts": "P(the model answers well) for one turn of a user, one head per model",
        "good": "what callers said of answers, else what an escalation's signals said, 0..1",
        "log": lessons.name,
        "questions": len(lessons.rows),
        "outcomes": {head: dict(counts) for head, counts in lessons.counts.items()},
        "weights": f"the inverse of the chance of the choice, at most {lessons.most_weight:g}",
        "not_for": "other models than these, and kinds of prompts that are not among these",
    }


def report(what: str, lessons: Lessons, heads: Sequence[str], known: Known, after: Floats) -> Report:
    rows = []
    for at, head in enumerate(heads):
        seen = known.observed[:, at]
        told = known.quality[seen, at]
        of = ", ".join(f"{source} {count}" for source, count in sorted(lessons.counts.get(head, {}).items()))
        mean = f"{np.average(told, weights=known.weight[seen]):.3f}"
        eces = (f"{off_by(known, chances, at):.3f}" for chances in (known.before, after))
        rows.append((head, str(int(seen.sum())), of, mean, *eces))
    heavy = float((known.weight >= lessons.most_weight).mean())
    notes = (
        f"rows weigh by the inverse of their choice's chance, at most {lessons.most_weight:g} ({heavy:.1%} of them do)",
        f"{lessons.numberless} decisions with an outcome have no numbers and taught nothing",
    )
    title = f"{what} on {len(known.weight)} questions of {lessons.name}"
    return Report(title=title, columns=COLUMNS, rows=tuple(rows), notes=notes)


def quick_of(stages: Stages | None) -> str:
    """Whether there is a quick stage, in words."""
    if stages is None:
        return (
            "no quick stage: not all questions have a static vector by this release's table, to tell how far it is off"
        )
    return f"a quick stage: the full gain lies in its interval with a probability of at least {LEVEL:.0%}"


def written(found: Report, quick: str, out_dir: Path) -> Report:
    whole = msgspec.structs.replace(found, notes=(*found.notes, quick))
    whole.write(out_dir / "report.json")
    return whole
