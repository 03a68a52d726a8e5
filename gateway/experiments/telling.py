"""How experiments and rollouts stand, as people and other programs are told."""

from collections.abc import Mapping

import msgspec

from gateway.experiments.chapter import Chapter
from policies.experiments.breaches import PairFinding, pair_findings
from policies.experiments.rollout import shadowed, share_of, told
from policies.experiments.verdict import Verdict


class ToldExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """`variant` is who gets everybody, "" while it goes on. Instants in seconds since the epoch."""

    experiment: str
    state: str
    variant: str
    why: str
    since: float
    begun_at: float
    requests: Mapping[str, int]
    without_unit: int
    verdict: Verdict


class ToldRollout(msgspec.Struct, frozen=True, kw_only=True):
    """`words` say all of it. `share` of the units have the change, the share `asks` of the requests is asked by it though
    nobody has it; `pairs` were compared so, and `compared` is what they say. `step` counts from 1, `rounds` how often it was
    resumed with new evidence. Instants in seconds since the epoch."""

    rollout: str
    state: str
    words: str
    share: float
    asks: float
    pairs: int
    compared: tuple[PairFinding, ...]
    step: int
    steps: int
    rounds: int
    since: float
    begun_at: float
    requests: Mapping[str, int]
    without_unit: int
    verdict: Verdict


CALLED: Mapping[str, str] = {"stopped": "rolled_back", "promoted": "done"}
"""What is a rollout's own word for how it stands."""


def told_experiment(chapter: Chapter) -> ToldExperiment:
    standing = chapter.standing
    return ToldExperiment(
        experiment=chapter.experiment.name,
        state=standing.state,
        variant=standing.variant,
        why=standing.why,
        since=standing.since,
        begun_at=chapter.begun_at,
        requests=dict(chapter.whole.requests),
        without_unit=chapter.without_unit,
        verdict=chapter.verdict(chapter.seen_at),
    )


def told_rollout(chapter: Chapter, now: float) -> ToldRollout:
    standing, steps = chapter.standing, chapter.experiment.steps
    return ToldRollout(
        rollout=chapter.experiment.name,
        state=CALLED.get(standing.state, standing.state),
        words=told(standing, chapter.experiment, chapter.canaries, now),
        share=share_of(standing),
        asks=shadowed(standing, chapter.experiment),
        pairs=chapter.whole.pairs,
        compared=tuple(pair_findings(chapter.experiment, chapter.whole)),
        step=min(standing.step + 1, len(steps)),
        steps=len(steps),
        rounds=standing.round,
        since=standing.since,
        begun_at=chapter.begun_at,
        requests=dict(chapter.whole.requests),
        without_unit=chapter.without_unit,
        verdict=chapter.verdict(chapter.seen_at),
    )


MISFITS: Mapping[str, tuple[tuple[str, ...], str]] = {
    "approve": (("waiting",), "waits for nobody"),
    "abort": (("running", "waiting", "held", "promoted"), "is rolled back already"),
    "resume": (("held", "stopped"), "goes on already"),
}
"""Of each order how a rollout may stand for it, and what it is otherwise."""


def misfit(chapter: Chapter, action: str, now: float) -> str:
    """Why an order makes no sense of this rollout, or "".

    A rollout that is done is not resumed: there is nothing to go on with.
    """
    standings, otherwise = MISFITS[action]
    if chapter.standing.state in standings:
        return ""
    name = chapter.experiment.name
    return f"{name} {otherwise}: {told(chapter.standing, chapter.experiment, chapter.canaries, now)}"


def changed(chapter: Chapter) -> str:
    """What has become of it, for the process's log."""
    standing, name = chapter.standing, chapter.experiment.name
    if chapter.experiment.steps:
        return f"rollout {name}: {told(standing, chapter.experiment, chapter.canaries, standing.since)}"
    return f"experiment {name} is {standing.state}: {standing.why}"
