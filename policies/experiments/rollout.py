"""A rollout climbs its steps: more and more units have the change while nothing is worse, and nobody has it once something is.

Before anybody has it, its shadow may be compared: requests are asked by the change as well, after their answers have left.

It is an experiment of two variants whose weights move. Matched: beside each unit of the canary one of control takes part, drawn
alike, in the same hours, and the rest is not compared with anything. Up to half of the units both are equally likely at every
step, so no unit changes its variant; beyond that control gives way. With the rest: control is everybody else, and gives way to
the canary from the first step on. Either way who has the change keeps it.
"""

from collections.abc import Mapping

import msgspec

from policies.experiments.assign import shares
from policies.experiments.plan import CANARY, CONTROL, CompareWith, Experiment, Step
from policies.experiments.standing import Standing
from policies.experiments.verdict import Verdict

Ramp = tuple[Mapping[str, float], ...]

MINUTE, HOUR, DAY = 60, 3_600, 86_400

HELD_OUT = 0.01
"""Of the units, who stay control as long as there are steps: without them nobody would see that the last one is broken."""


def weights_at(share: float, compare_with: CompareWith = "matched") -> Mapping[str, float]:
    """Of all units, when this share of them has the change.

    >>> weights_at(0.05), weights_at(1.0), weights_at(0.05, "rest")
    ({'control': 0.05, 'canary': 0.05}, {'control': 0.01, 'canary': 0.99}, {'control': 0.95, 'canary': 0.05})
    """
    canary = min(share, 1 - HELD_OUT)
    rest = round(1 - canary, 9)
    return {CONTROL: min(canary, rest) if compare_with == "matched" else rest, CANARY: canary}


def ramped_to(ramp: Ramp, share: float, compare_with: CompareWith = "matched") -> Ramp:
    """What was lived through, with this share: other sizes of the same halves move nobody, and are not remembered.

    >>> ramped_to(ramped_to((), 0.01), 0.05)
    ({'control': 0.05, 'canary': 0.05},)
    """
    fresh = weights_at(share, compare_with)
    same = bool(ramp) and shares(ramp[-1]) == shares(fresh)
    return (*ramp[:-1], fresh) if same else (*ramp, fresh)


def share_of(standing: Standing) -> float:
    """The share of all units that have the change."""
    if standing.state in ("stopped", "promoted"):
        return float(standing.variant == CANARY)
    return standing.ramp[-1][CANARY] if standing.ramp else 0.0


def entered(
    standing: Standing, experiment: Experiment, place: int, now: float, *, seen: int, why: str = ""
) -> Standing:
    """At this step, or done where there is none. `seen` requests of the canary, and pairs of its shadow, were over by then."""
    if place >= len(experiment.steps):
        return Standing("promoted", CANARY, "every step is done", now, standing.ramp, place, seen, standing.round)
    step = experiment.steps[place]
    if step.approve:
        return Standing("waiting", "", f"for {step.approve}", now, standing.ramp, place, seen, standing.round)
    share = step.share
    ramp = ramped_to(standing.ramp, share, experiment.compare_with) if share else standing.ramp
    return Standing("running", "", why, now, ramp, place, seen, standing.round)


def begun(experiment: Experiment, now: float) -> Standing:
    return entered(Standing(), experiment, 0, now, seen=0)


def climb(standing: Standing, experiment: Experiment, found: Verdict, canaries: int, now: float) -> Standing:
    """What becomes of it when this is what the evidence says, with so many requests of the canary over.

    What is over stays so until a person orders otherwise. On hold or waiting a guardrail can still roll it back.
    """
    if standing.forced:
        return standing
    if any(breach.act == "roll_back" for breach in found.breaches):
        return over(standing, CONTROL, found.words, now)
    if standing.state == "held":
        return standing
    if found.outcome in ("breach", "sample_ratio"):
        return msgspec.structs.replace(standing, state="held", why=found.words, since=now)
    if standing.state == "running" and not missing(standing, experiment.steps[standing.step], canaries, now):
        return entered(standing, experiment, standing.step + 1, now, seen=canaries)
    return standing


def over(standing: Standing, variant: str, why: str, now: float) -> Standing:
    """Everybody gets this variant."""
    state = "promoted" if variant == CANARY else "stopped"
    return msgspec.structs.replace(standing, state=state, variant=variant, why=why, since=now)


def missing(standing: Standing, step: Step, canaries: int, now: float) -> tuple[str, ...]:
    """What a step still lacks, in words.

    >>> missing(Standing(since=0.0, seen=10), Step(0.05, for_s=7_200, samples=200), 90, 600)
    ('another 1.8 h', '120 more requests of the canary')
    """
    left_s, left = standing.since + step.for_s - now, (step.samples or step.pairs) - (canaries - standing.seen)
    time = (f"another {spelt(left_s)}",) if left_s > 0 else ()
    wanted = "pairs of its shadow" if step.pairs else "requests of the canary"
    return (*time, f"{left} more {wanted}") if left > 0 else time


def shadowed(standing: Standing, experiment: Experiment) -> float:
    """The share of the requests that are asked by the change as well, though nobody has it; 0 at any other step."""
    return experiment.steps[standing.step].shadow if standing.state == "running" else 0.0


def spelt(seconds: float) -> str:
    """
    >>> spelt(40), spelt(5_400), spelt(200_000)
    ('40 s', '1.5 h', '2.3 d')
    """
    for unit, word in ((DAY, "d"), (HOUR, "h"), (MINUTE, "min")):
        if seconds >= unit:
            return f"{seconds / unit:.2g} {word}"
    return f"{seconds:.0f} s"


def aborted(standing: Standing, now: float) -> Standing:
    """Everybody gets control, also after the last step."""
    return over(standing, CONTROL, "aborted by a person", now)


def approved(standing: Standing, experiment: Experiment, canaries: int, now: float) -> Standing:
    """The next step, where it waited for this."""
    if standing.state != "waiting":
        return standing
    return entered(standing, experiment, standing.step + 1, now, seen=canaries, why="approved by a person")


def resumed(standing: Standing, experiment: Experiment, now: float) -> Standing:
    """What was held goes on at its step, what was rolled back at its first one; both with new evidence, since the old one would
    end it again at once."""
    if standing.state == "held":
        return _anew(standing, experiment, standing.step, now)
    if standing.state == "stopped":
        return _anew(Standing(round=standing.round), experiment, 0, now)
    return standing


def _anew(standing: Standing, experiment: Experiment, place: int, now: float) -> Standing:
    again = msgspec.structs.replace(standing, round=standing.round + 1)
    return entered(again, experiment, place, now, seen=0, why="resumed by a person")


def restepped(standing: Standing, experiment: Experiment, now: float) -> Standing:
    """With other steps it goes on at the first that has no smaller share than it has; where all are smaller, at the last."""
    if standing.forced or standing.state == "held":
        last = len(experiment.steps) - 1
        return msgspec.structs.replace(standing, step=min(standing.step, last))
    places = [place for place, step in enumerate(experiment.steps) if not step.approve]
    share = share_of(standing)
    place = next((found for found in places if experiment.steps[found].share >= share), places[-1])
    return entered(standing, experiment, place, now, seen=standing.seen, why="by other steps")


SEVERITY: Mapping[str, int] = {"running": 0, "waiting": 0, "held": 1, "stopped": 2, "promoted": 2}


def rank(standing: Standing) -> tuple[int, int, int, float]:
    """Of two gateways' ways that a rollout stands the higher one holds, for both: a later round, then what is worse, then the
    further step. A step is entered once, by whoever came first; of two ends the later one holds."""
    severity = SEVERITY.get(standing.state, 0)
    if severity == 0:
        return standing.round, 0, standing.step, -standing.since
    return standing.round, severity, 0, standing.since


def who_has_it(standing: Standing, experiment: Experiment) -> str:
    if asked := shadowed(standing, experiment):
        return f"nobody has the change, and {100 * asked:.4g}% of the requests are asked by it as well"
    return f"{100 * share_of(standing):.4g}% of the units have the change"


def told(standing: Standing, experiment: Experiment, canaries: int, now: float) -> str:
    """How it stands, in words with its numbers."""
    if standing.state == "promoted":
        return f"done, everybody has the change: {standing.why}; write it into the policy file and take the rollout out"
    if standing.state == "stopped":
        return f"rolled back, nobody has the change: {standing.why}"
    place = f"at step {standing.step + 1} of {len(experiment.steps)}, {who_has_it(standing, experiment)}"
    if standing.state == "held":
        return f"held {place}: {standing.why}"
    if standing.state == "waiting":
        return f"{place}; it waits {standing.why}"
    lacks = missing(standing, experiment.steps[standing.step], canaries, now)
    return f"{place}; " + (f"the next one wants {' and '.join(lacks)}" if lacks else "the next one comes now")
