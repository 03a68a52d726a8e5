"""What was chosen and why: candidates, terms, steps. A decision is a record that can be replayed."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from policies.escalate.task import Task
from policies.experiments.plan import Assignment
from policies.policy import Line


class Term(msgspec.Struct, frozen=True):
    """One part of the expected cost of a candidate, in micro-dollars, with its one-line why."""

    name: str
    microusd: int
    why: str


class Candidate(msgspec.Struct, frozen=True):
    """A (model, replica) that could answer, with its expected cost."""

    model: str
    replica: str
    terms: tuple[Term, ...] = ()

    @property
    def microusd(self) -> int:
        return sum(term.microusd for term in self.terms)


class Dropped(msgspec.Struct, frozen=True):
    """A model, or one replica of it, that is no candidate; `filter` is route, allowed, can, dialect, fits, healthy or
    budget."""

    model: str
    filter: str
    reason: str
    replica: str = ""


class Call(msgspec.Struct, frozen=True, tag="call"):
    """Ask this replica. The first Call of a decision is the choice, the others are its fallbacks in order."""

    model: str
    replica: str


class Hold(msgspec.Struct, frozen=True):
    """Answers of the models `of` are kept from the client until they are judged by `escalation`; if they are not good
    enough, `to` are asked instead, in order. `second` is asked beside them, for comparison alone. `weighed_as` is the task by
    whose weights the first choice is judged, "" where it is by the model's."""

    escalation: str
    of: tuple[str, ...]
    to: tuple[Call, ...]
    second: Call | None = None
    weighed_as: Task = ""


class Hedge(msgspec.Struct, frozen=True):
    """After `after_s` in which the first choice says nothing, one of `to` is asked as well, in this order: the same model
    elsewhere. Whoever speaks first answers."""

    to: tuple[Call, ...]
    after_s: float


RejectCode = Literal[
    "unknown_model",
    "model_not_allowed",
    "no_route",
    "context_length_exceeded",
    "unsupported_content",
    "unavailable",
    "over_budget",
]


class Reject(msgspec.Struct, frozen=True, tag="reject"):
    """Nobody may answer. `param` names the field of the request at fault, or "". `again_in_s` is when asking again may help,
    None where that is not known, or never."""

    code: RejectCode
    message: str
    param: str = ""
    again_in_s: float | None = None


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """Facts, estimate and snapshot, judged by one policy.

    `steps` is never empty: calls in the order to be tried, or exactly one Reject. `reason` is one line for a person.
    `unheld` says why the escalation of the route has nothing to do here, or is "". `line` is what parted the tiers, None
    where the route does not choose by difficulty. On a route that explores, `propensity` is the chance of each model that
    had one to be asked first, over all draws; `instead_of` is who would have been asked had the choice not been drawn, or "".
    `assignments` are the experiments that it is part of, with their variants. `over_budget` is the budget that had too little
    left, so that another model answers, or nobody; or "". `unhedged` says why nobody is asked beside a first choice that is
    silent, where the policy hedges, or is "". `untold` are the models among those who may be asked that are not told how much
    the client wants to be thought.
    """

    steps: tuple[Call | Reject, ...]
    route: str
    reason: str
    policy_hash: str
    candidates: tuple[Candidate, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    artefact: str = ""
    hold: Hold | None = None
    unheld: str = ""
    line: Line | None = None
    propensity: Mapping[str, float] = {}
    instead_of: str = ""
    assignments: tuple[Assignment, ...] = ()
    over_budget: str = ""
    hedge: Hedge | None = None
    unhedged: str = ""
    untold: tuple[str, ...] = ()

    @property
    def probability(self) -> float:
        """With which this choice was made among all that could have been: 1 where nothing is drawn."""
        return self.propensity.get(self.choice.model, 1.0) if isinstance(self.choice, Call) else 1.0

    @property
    def choice(self) -> Call | Reject:
        return self.steps[0]
