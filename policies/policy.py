"""A policy as deciding uses it: compiled, frozen, with every target solved. It does not know the file it came from."""

from collections.abc import Callable, Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import msgspec

from policies.budgets.plan import Budget
from policies.catalogue import Model, Price
from policies.escalate.plan import Escalation
from policies.experiments.enrol import arm_of
from policies.experiments.plan import Assignment, Experiment, Unit
from policies.facts import Facts
from policies.hedging.plan import Hedging
from policies.shadows.plan import Shadow

if TYPE_CHECKING:
    from policies.offer import Offer

Matcher = Callable[[Facts], bool]
MayMove = Literal["up", "freely", "never"]
StayWith = Literal["tier", "model"]
TargetKind = Literal["cost", "quality"]

PROMPT_PREFIX = "prompt_prefix"
"""In `id_from`: a conversation is known by how it went so far."""

ID_FROM = ("header.x-conversation-id", "body.metadata.conversation_id", PROMPT_PREFIX)

REQUESTED = "requested"
"""In `use`: the model that the client named."""


def always(_facts: Facts) -> bool:
    """The matcher of a route without conditions."""
    return True


class Target(msgspec.Struct, frozen=True):
    """What the operator wants of a mix of models, as percent of sending everything to the model `of`.

    >>> str(Target("cost", 40, "large"))
    'cost 40% of large'
    """

    kind: TargetKind
    percent: float
    of: str

    def __str__(self) -> str:
        return f"{self.kind} {self.percent:g}% of {self.of}"


class Expected(msgspec.Struct, frozen=True):
    """What a solved target comes to on the calibration sample: percent of the reference's cost and quality, and shares."""

    cost_percent: float
    quality_percent: float
    shares: Mapping[str, float]


class Line(msgspec.Struct, frozen=True):
    """Where a route parts its tiers: what one bad answer costs, in units of what the reference model charges; and the
    most that it cost while a conversation of now may have begun."""

    loss: float
    loss_before: float


class Choose(msgspec.Struct, frozen=True, kw_only=True):
    """A choice by difficulty. `among` is the ladder, lowest tier first.

    `loss_per_reference` is the exchange rate of quality: what one bad answer costs, in units of what the model
    `target.of` charges for the same request. `relative_cost` is what each model charges in that unit for the request
    that targets are solved on. `prices` are the models' own, or stand-ins where no model of the ladder has one.
    `loss_before` is the highest rate that an earlier turn of a conversation may have been decided by; where it is less
    than the rate itself, that holds. `adapts`: the rate follows the traffic, so that the target is held.
    `floor` is the quality that goes before a target of cost.
    """

    among: tuple[str, ...]
    target: Target
    when_unsure: str
    prices: Mapping[str, Price]
    relative_cost: Mapping[str, float]
    loss_per_reference: float
    expected: Expected
    loss_before: float = 0.0
    adapts: bool = True
    floor: Target | None = None

    @property
    def line(self) -> Line:
        return Line(self.loss_per_reference, max(self.loss_per_reference, self.loss_before))


class Route(msgspec.Struct, frozen=True, kw_only=True):
    """A rule: which model, for which request. Exactly one of `use` and `choose` is set.

    `fallback` None means the other models of the ladder in order of expected cost. `escalate` names the escalation that
    judges the answers of lower tiers, or is "". `explore` is the share of conversations that get a tier which is drawn.
    """

    name: str
    matches: Matcher = always
    use: str = ""
    choose: Choose | None = None
    fallback: tuple[str, ...] | None = None
    escalate: str = ""
    explore: float = 0.0

    @property
    def pins(self) -> bool:
        return self.use == REQUESTED


PINNED = Route(name="pinned", use=REQUESTED)
"""An explicit, permitted model name is honoured, whether or not the file says so."""


class Resilience(msgspec.Struct, frozen=True, kw_only=True):
    """How long to wait, in seconds, and how often to ask: `attempts` counts the first. `hedge` None: nobody is raced.
    `retry_budget` is the share of requests that may be asked for once more after a failure, None as many as fail."""

    attempts: int = 3
    connect_s: float = 5.0
    first_content_s: float = 120.0
    gap_s: float = 60.0
    total_s: float = 600.0
    retry_uncertain: bool = False
    hedge: Hedging | None = None
    retry_budget: float | None = None


class Difficulty(msgspec.Struct, frozen=True):
    """Which trained artefact estimates difficulty (a path, or `shipped`), and in how much time before it abstains."""

    artefact: str = "shipped"
    within_ms: int = 50


class Affinity(msgspec.Struct, frozen=True):
    """When a replica is too busy to keep a prefix: above `max_imbalance` x mean and `spill_after` over the least loaded.

    More than `spread_after` prompts under way there with the same prefix, and most of all, make it worth computing elsewhere
    too.
    """

    max_imbalance: float = 1.1
    spill_after: float = 4.0
    spread_after: int = 1


class Policy(msgspec.Struct, frozen=True, kw_only=True, dict=True):
    """Everything that deciding needs. `hash` is 16 hex digits of the SHA-256 of the file's text.

    `headers_read` are the request's side values (lower-case names) that the routes look at. `difficulty` is None when
    no route chooses by difficulty. `remember_s` is how long the lines of earlier turns of a conversation are honoured.
    `id_from` says, in the order in which they are tried, where a request names its conversation.
    `arms` are the policies of variants that change something, by what `experiments.enrol.arm_of` calls them. `shadows` are
    asked the same after the answer; no decision hangs on them. `budgets` all apply to every request.
    """

    hash: str
    name: str
    models: Mapping[str, Model]
    routes: tuple[Route, ...]
    headers_read: frozenset[str] = frozenset()
    difficulty: Difficulty | None = None
    resilience: Resilience = Resilience()
    affinity: Affinity = Affinity()
    may_move: MayMove = "up"
    escalations: Mapping[str, Escalation] = {}
    stay_with: StayWith = "tier"
    remember_s: float = 3600.0
    id_from: tuple[str, ...] = ID_FROM
    experiments: tuple[Experiment, ...] = ()
    arms: Mapping[str, "Policy"] = {}
    shadows: tuple[Shadow, ...] = ()
    budgets: tuple[Budget, ...] = ()

    def redrawn(self, lines: Mapping[str, Line]) -> "Policy":
        """The same policy with these lines, by route. Whoever has a decision and its line can so decide again.

        Arms have the lines too, where they have none of their own (`ARM/ROUTE`).
        """
        arms = {name: arm.redrawn({**lines, **arm.own_lines(name, lines)}) for name, arm in self.arms.items()}
        routes = tuple([_redrawn(route, lines) for route in self.routes])
        return msgspec.structs.replace(self, routes=routes, arms=arms)

    def own_lines(self, arm: str, lines: Mapping[str, Line]) -> Mapping[str, Line]:
        """Of `lines` those that are of this arm alone."""
        own = {route.name: lines.get(f"{arm}/{route.name}") for route in self.routes}
        return {route: line for route, line in own.items() if line is not None}

    @property
    def every_model(self) -> tuple[Model, ...]:
        """Each model as the file and every variant has it."""
        found = [model for part in (self, *self.arms.values()) for model in part.models.values()]
        return tuple([model for i, model in enumerate(found) if model not in found[:i]])

    @cached_property
    def pinning(self) -> tuple[Route, ...]:
        """The routes that a request meets which names its model."""
        return tuple([route for route in self.routes if route.pins])

    @cached_property
    def choosing(self) -> tuple[Route, ...]:
        """The routes that a request meets which names none."""
        return tuple([route for route in self.routes if not route.pins])

    @cached_property
    def offers(self) -> "dict[tuple[str, str, str], Offer]":
        """What its routes offer, as far as requests met them (`offer.offer_of`)."""
        return {}

    @cached_property
    def moves_conversations(self) -> bool:
        """Whether a later turn has to know of an escalation."""
        return any(plan.moves == "conversation" and plan.under > 0 for plan in self.escalations.values())

    @cached_property
    def keeps_tiers(self) -> bool:
        """Whether a turn should be heard of that was decided by another process's line, or by none."""
        return self.may_move == "up" and any(route.choose is not None for route in self.routes)

    @cached_property
    def draws_lines(self) -> bool:
        """Whether lines follow the traffic, so that those of two processes differ."""
        return any(route.choose is not None and route.choose.adapts for route in self.routes)

    @cached_property
    def watches_agents(self) -> bool:
        """Whether it matters that an agent is stuck."""
        return any(plan.stuck_turns for plan in self.escalations.values())

    @cached_property
    def judges_answers(self) -> bool:
        """Whether it matters what form of answer is asked for."""
        return any(plan.under > 0 for plan in self.escalations.values())

    @cached_property
    def units(self) -> frozenset[Unit]:
        """What experiments go by, of what a request does not say by itself."""
        return frozenset([experiment.unit for experiment in self.experiments]) - {"tenant"}

    def arm(self, assignments: Iterable[Assignment]) -> "Policy":
        """The policy that a request with these variants is decided by."""
        return self.arms.get(arm_of(assignments), self)


def _redrawn(route: Route, lines: Mapping[str, Line]) -> Route:
    line = lines.get(route.name)
    if route.choose is None or line is None:
        return route
    drawn = msgspec.structs.replace(route.choose, loss_per_reference=line.loss, loss_before=line.loss_before)
    return msgspec.structs.replace(route, choose=drawn)
