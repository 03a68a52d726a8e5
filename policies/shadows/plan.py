"""A shadow: a model that is asked the same as another one, after that one has answered, for comparison alone."""

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from policies.experiments.plan import Experiment
from policies.facts import Facts

Comparison = Literal["exact", "edit", "structure", "embedding"]
"""
exact      the same text, as it is and normalised
edit       how many words would have to change
structure  the same JSON, the same tool calls; and whether an answer has the form that was asked for
embedding  how far the sentence embeddings are apart
"""


def never(_facts: Facts) -> bool:
    """The matcher of a shadow that leaves nobody out."""
    return False


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """What a shadow may take. `microusd_per_day` None: it costs nothing. `queue` requests wait at most, `in_flight` are asked
    at once, each for `deadline_s` at most."""

    microusd_per_day: int | None = None
    in_flight: int = 8
    queue: int = 64
    deadline_s: float = 60.0


class Judge(msgspec.Struct, frozen=True):
    """A model that says of the share `of` of the compared pairs which answer is better, asked in both orders."""

    model: str
    of: float


class Shadow(msgspec.Struct, frozen=True, kw_only=True):
    """`to` is asked what requests of `routes`, and those that `models` answered, were asked: the share `sample` of them, but
    for those that `leaves_out` matches. For the share `answer_twice` of these the model that answered is asked once more,
    so that its difference from itself is known. `rollout` names the one whose change says who is asked, in place of `to`;
    `round` counts how often that was begun anew."""

    name: str
    to: str
    routes: frozenset[str] = frozenset()
    models: frozenset[str] = frozenset()
    sample: float = 0.01
    leaves_out: Callable[[Facts], bool] = never
    compare: tuple[Comparison, ...] = ("exact", "structure")
    judge: Judge | None = None
    answer_twice: float = 0.0
    limits: Limits = Limits()
    rollout: str = ""
    round: int = 0


AT_ONCE = Limits(in_flight=4, queue=16)
"""Of a rollout's change. Its pairs are its bound: so many more may be asked than are wanted, by each gateway."""


def of_rollout(experiment: Experiment) -> Shadow | None:
    """What asks by the change of a rollout before anybody has it; None where no step does."""
    share = max([step.shadow for step in experiment.steps], default=0.0)
    if not share:
        return None
    return Shadow(
        name=f"rollout {experiment.name}",
        to="",
        routes=experiment.routes,
        sample=share,
        limits=AT_ONCE,
        rollout=experiment.name,
    )


def names_of(shadows: Iterable[Shadow], experiments: Iterable[Experiment]) -> list[str]:
    """Of all that may draw requests: those that the file names, and rollouts that are compared before anybody has them."""
    rollouts = [of_rollout(experiment) for experiment in experiments]
    return [*[shadow.name for shadow in shadows], *[found.name for found in rollouts if found is not None]]
