"""A classifier from a gateway's own log: each question was answered by one model, and somebody said how well; or by two, and
what the one answered says something of the other.

What the others would have said is filled in: the estimate of then, plus what answers of that model to alike questions were
better or worse than estimated. Rows weigh by the inverse of the chance with which their model was chosen, so that a question
that was sent to it by a draw stands for those that were not.
"""

from pathlib import Path

import msgspec
import numpy as np

from classifiers import artefact
from classifiers.artefact import Artefact, Manifest
from classifiers.embedding.encoder import encoder_name
from classifiers.embedding.store import Progress, open_store
from classifiers.features.lexical import NAMES
from classifiers.heads.blend import Blend, crossed, fit_scale, mean_contrasts
from classifiers.heads.inputs import Inputs, Targets
from classifiers.measuring.curves import Curves
from classifiers.measuring.score import gain
from classifiers.outcomes.own import OutcomesRefused
from classifiers.stages import Beside, Stages, fit_locally, fit_to_log
from classifiers.training.learn import FEWEST, learn
from classifiers.training.lessons import Known, Lessons, arrayed
from classifiers.training.log_report import ONE_ANSWER, Judged, measured, quick_of, reliabilities, report
from classifiers.training.own import SAMPLE_ROWS, libraries
from classifiers.training.written import Written, written


def train_from_log(
    lessons: Lessons,
    out_dir: Path,
    *,
    cache_dir: Path,
    trained_on: str,
    embedder: str | None = None,
    threads: int = 2,
    progress: Progress | None = None,
) -> Written:
    """Writes the artefact to `out_dir` and `report.json` beside it. It has a quick stage where all its questions have a static
    vector. Raises OutcomesRefused, EncoderMissing."""
    encoder = encoder_name(embedder)
    known = arrayed(lessons, lessons.heads, encoder)
    probe = open_store(cache_dir, embedder, threads, progress).vectors([artefact.PROBE_TEXT])[0]
    if len(probe) != (width := known.inputs.vectors.shape[1]):
        raise OutcomesRefused(
            f"the embeddings in {lessons.name} have {width} numbers, and those of the encoder {encoder} have {len(probe)}: "
            "it took another one's place"
        )
    beside = None if known.static is None else Beside(Inputs(known.static, known.inputs.lexical))
    learned = learn(known.inputs, Targets(known.quality, known.weight), beside)
    unseen = known.take(learned.kept)
    told = measured(lessons.heads, unseen, learned.p_unseen)
    manifest = Manifest(
        format=artefact.FORMAT, name=lessons.name, trained_on=trained_on, encoder=encoder,
        features=NAMES, heads=lessons.heads, tensors_sha256="", card=card(lessons), metrics=told, libraries=libraries(),
    )  # fmt: skip
    sealed = artefact.save(out_dir, manifest, learned.blend, learned.p_good[:SAMPLE_ROWS], probe, stages=learned.stages)
    table = report("trained", lessons, lessons.heads, Judged(known, unseen, learned.p_unseen), quick_of(learned.stages))
    drawn = Curves(
        reliability=reliabilities(lessons.heads, unseen, learned.p_unseen),
        missing=dict.fromkeys(("deferral", "frontier"), ONE_ANSWER),
    )
    return written(sealed, table, drawn, out_dir, lessons.counts)


def calibrate_from_log(
    folder: Path | None,
    lessons: Lessons,
    out_dir: Path,
    *,
    trained_on: str,
    embedder: str | None = None,
    threads: int = 2,
) -> Written:
    """The heads stay, what their numbers mean is learned anew, and the bounds of its stages. Raises ArtefactRefused,
    OutcomesRefused."""
    from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

    with threadpool_limits(threads):  # nothing is embedded, so these are numpy's
        return _calibrated(folder, lessons, out_dir, trained_on, embedder)


def _calibrated(folder: Path | None, lessons: Lessons, out_dir: Path, trained_on: str, embedder: str | None) -> Written:
    opened = artefact.load(folder or artefact.SHIPPED)
    heads = opened.manifest.heads
    known = arrayed(lessons, heads, encoder_name(embedder) if embedder else opened.manifest.encoder, opened)
    said, targets = mean_contrasts(opened.blend.members, known.inputs), Targets(known.quality, known.weight)
    blend = Blend(opened.blend.members, fit_scale(said, targets))
    after = crossed(said, targets)
    manifest = msgspec.structs.replace(
        opened.manifest, trained_on=trained_on, metrics=measured(heads, known, after), libraries=libraries(),
        card={**opened.manifest.card, "calibrated_on": card(lessons)},
    )  # fmt: skip
    sample = blend.scale.apply(said)[:SAMPLE_ROWS]
    stages = stages_of(opened, known)
    sealed = artefact.save(out_dir, manifest, blend, sample, opened.probe, stages=stages)
    table = report("calibrated", lessons, heads, Judged(known, known, after), quick_of(stages))
    drawn = Curves(reliability=reliabilities(heads, known, after), before=reliabilities(heads, known, known.before))
    return written(sealed, table, drawn, out_dir, lessons.counts)


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


def card(lessons: Lessons) -> dict[str, object]:
    return {
        "predicts": "P(the model answers well) for one turn of a user, one head per model",
        "good": "what callers said of answers, else what an escalation's signals said, else what shadows say of both, 0..1",
        "log": lessons.name,
        "questions": len(lessons.rows),
        "outcomes": {head: dict(counts) for head, counts in lessons.counts.items()},
        "weights": f"the inverse of the chance of the choice, or of a shadow's draw, at most {lessons.most_weight:g}",
        "not_for": "other models than these, and kinds of prompts that are not among these",
    }
