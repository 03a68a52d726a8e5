"""One experiment as it is kept: what it is, how it stands, and what this process has seen of it."""

import math

import msgspec

from policies.experiments import trial as trials
from policies.experiments.plan import CANARY, Experiment
from policies.experiments.rollout import begun, climb, rank, restepped
from policies.experiments.standing import Standing, after, print_of
from policies.experiments.trial import Trial
from policies.experiments.verdict import Verdict, verdict

SCHEMA = 1
"""Raised when what is kept changes its meaning; what has another one is begun afresh."""


class Chapter(msgspec.Struct, frozen=True, kw_only=True):
    """`trial` is what this process saw, `others` what other gateways did. `begun_at` and `seen_at` in seconds since the epoch.
    `without_unit` counts requests that did not say of which unit they are."""

    schema: int = SCHEMA
    experiment: Experiment
    print: str
    begun_at: float
    seen_at: float
    trial: Trial
    others: Trial | None = None
    standing: Standing = Standing()
    without_unit: int = 0

    @property
    def whole(self) -> Trial:
        """All that is known."""
        return self.trial if self.others is None else trials.merged(self.trial, self.others)

    @property
    def canaries(self) -> int:
        """Requests of a rollout's canary that are over, and pairs of its shadow."""
        whole = self.whole
        return whole.requests.get(CANARY, 0) + whole.pairs

    @property
    def has_begun(self) -> bool:
        """Whether a rollout got beyond being declared, here or elsewhere."""
        return bool(self.standing.ramp) or self.standing.step > 0 or self.trial.pairs > 0

    @property
    def is_broken(self) -> bool:
        """A guardrail that would roll back is broken, and it still goes on."""
        if self.standing.forced:
            return False
        watched = self.whole.watched
        return any(
            rail.act == "roll_back" and watched[trials.key(treatment, rail.name)].peak >= -math.log(rail.alpha)
            for treatment, rail in trials.rails(self.experiment)
        )

    def verdict(self, now: float) -> Verdict:
        return verdict(self.experiment, self.whole, now - self.begun_at)


def begin(experiment: Experiment, now: float) -> Chapter:
    return Chapter(
        experiment=experiment,
        print=print_of(experiment),
        begun_at=now,
        seen_at=now,
        trial=trials.begin(experiment),
        standing=begun(experiment, now) if experiment.steps else Standing(),
    )


def carried(chapter: Chapter | None, experiment: Experiment, now: float) -> Chapter:
    """What was known, as far as it is of this experiment: other weights are a ramp, and end one that was ordered; anything
    else is another experiment."""
    if chapter is None or chapter.schema != SCHEMA or chapter.print != print_of(experiment):
        return begin(experiment, now)
    standing = chapter.standing
    if experiment.steps != chapter.experiment.steps:
        standing = restepped(standing, experiment, now)
    elif experiment.weights != chapter.experiment.weights:
        standing = msgspec.structs.replace(standing, ramp=())
    return msgspec.structs.replace(chapter, experiment=experiment, standing=standing)


def judged(chapter: Chapter, now: float) -> Chapter:
    """With what its evidence makes of it."""
    standing, found = chapter.standing, chapter.verdict(now)
    if chapter.experiment.steps:
        return standing_so(chapter, climb(standing, chapter.experiment, found, chapter.canaries, now))
    return standing_so(chapter, after(standing, chapter.experiment, found, now))


def standing_so(chapter: Chapter, standing: Standing) -> Chapter:
    """As it stands now; another round begins without evidence."""
    if standing.round == chapter.trial.round:
        return msgspec.structs.replace(chapter, standing=standing)
    fresh = trials.begin(chapter.experiment, standing.round)
    return msgspec.structs.replace(chapter, standing=standing, trial=fresh, others=None)


def holds(told: Standing, chapter: Chapter) -> bool:
    """Whether what another gateway says of it goes before what is known here."""
    if chapter.experiment.steps:
        return rank(told) > rank(chapter.standing)
    return told.since > chapter.standing.since
