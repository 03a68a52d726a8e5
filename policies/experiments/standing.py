"""How an experiment stands: running, on hold, or over in favour of a variant; and what a verdict makes of that."""

from collections.abc import Mapping
from hashlib import blake2b
from typing import Literal

import msgspec

from policies.experiments.plan import Experiment
from policies.experiments.verdict import Verdict

State = Literal["running", "waiting", "decided", "held", "stopped", "promoted"]


class Standing(msgspec.Struct, frozen=True):
    """`since` in seconds since the epoch, 0 of one that goes on as it began. decided: the verdict waits for a person; held:
    something is wrong, and nothing is concluded; stopped and promoted: everybody gets `variant`. `ramp`: weights that
    followed the file's, the ones in force last.

    Of a rollout (`policies.experiments.rollout`): waiting: for a person; `step` is its place among the steps, entered at
    `since` when `seen` requests of the canary were over; `round` counts how often a person began anew with the evidence.
    """

    state: State = "running"
    variant: str = ""
    why: str = ""
    since: float = 0.0
    ramp: tuple[Mapping[str, float], ...] = ()
    step: int = 0
    seen: int = 0
    round: int = 0

    @property
    def forced(self) -> str:
        """The variant that everybody gets, or "" while it goes on."""
        return self.variant if self.state in ("stopped", "promoted") else ""


def after(standing: Standing, experiment: Experiment, found: Verdict, now: float) -> Standing:
    """What becomes of it. What is over, or was decided, stays so; on hold a guardrail can still end it."""
    if standing.state in ("stopped", "promoted"):
        return standing
    if found.outcome == "breach":
        return _broken(standing, experiment, found, now)
    if standing.state != "running" or found.outcome == "running":
        return standing
    if found.outcome == "sample_ratio":
        return Standing("held", "", found.words, now, standing.ramp)
    if found.outcome == "over":
        return Standing("stopped", found.variant, found.words, now)
    if experiment.then == "ask":
        return Standing("decided", found.variant, found.words, now, standing.ramp)
    return Standing("promoted" if found.outcome == "winner" else "stopped", found.variant, found.words, now)


def _broken(standing: Standing, experiment: Experiment, found: Verdict, now: float) -> Standing:
    if any(breach.act == "roll_back" for breach in found.breaches):
        return Standing("stopped", experiment.control, found.words, now)
    return standing if standing.state == "held" else Standing("held", "", found.words, now, standing.ramp)


def print_of(experiment: Experiment) -> str:
    """What evidence is of: changed by other variants, metrics, guardrails, units or salts, and not by other weights."""
    same = [
        experiment.name,
        experiment.unit,
        experiment.layer,
        experiment.salt,
        [(variant.name, variant.sets) for variant in experiment.variants],
        experiment.primary,
        experiment.also,
        experiment.adjust_by,
        experiment.alpha,
        [(rail.name, rail.metric, rail.margin, rail.alpha) for rail in experiment.watch],
        *([experiment.compare_with] if experiment.steps else []),
    ]
    return blake2b(msgspec.json.encode(same), digest_size=8).hexdigest()
