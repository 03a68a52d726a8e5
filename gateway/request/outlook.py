"""The world as one request sees it, and has the same view of again as long as it waits for nobody: until then nobody else can
have claimed anything or given it back."""

from collections.abc import Mapping

import msgspec

from backends.upstream import Prepared
from gateway.live.in_force import Live
from gateway.request.hedging.lateness import with_ttfts
from gateway.request.snapshot import World, take_snapshot
from gateway.state.residency import Seen
from policies.estimates import Span
from policies.experiments.enrol import Ramps
from policies.experiments.plan import Assignment, Unit
from policies.facts import Facts
from policies.field import Field, field_of
from policies.policy import Policy
from policies.unsettled import left_open


class Variants(msgspec.Struct, frozen=True):
    """What experiments make of a request, by digests of who and what it is of; `forced` and `ramps` tell how they stood when
    that was found."""

    units: Mapping[Unit, str] = {}
    assignments: tuple[Assignment, ...] = ()
    forced: Mapping[str, str] = {}
    ramps: Ramps = {}


NO_VARIANTS = Variants()


class Outlook:
    """`policy` decides, `live` is looked at: the arm of the request's variants."""

    __slots__ = ("_draw", "_facts", "_field", "_live", "_policy", "_prepared", "_seen", "_variants", "_world")

    def __init__(  # noqa: PLR0917  one request, and the world
        self,
        policy: Policy,
        live: Live,
        variants: Variants,
        facts: Facts,
        prepared: Mapping[str, Prepared],
        seen: Mapping[str, Seen],
        world: World,
        draw: float,
    ) -> None:
        self._policy, self._live, self._variants, self._facts = policy, live, variants, facts
        self._prepared, self._seen, self._world, self._draw = prepared, seen, world, draw
        self._field: Field | None = None

    def field(self) -> Field:
        """Who may answer, as things are."""
        if self._field is not None:
            return self._field
        live, world, variants = self._live, self._world, self._variants
        snapshot = take_snapshot(live, self._prepared, self._seen, world, self._draw)
        if variants.forced or variants.ramps:
            snapshot = msgspec.structs.replace(snapshot, experiments=variants.forced, ramps=variants.ramps)
        if live.policy.resilience.hedge is not None:
            snapshot = with_ttfts(snapshot, live.policy, self._facts, world.hedges.ttfts)
        self._field = field_of(self._policy, self._facts, snapshot)
        return self._field

    def left_open(self, span: Span) -> tuple[int, ...]:
        """Where, as things are, a quick estimate will not do."""
        return left_open(self.field(), span)

    def forget(self) -> None:
        """Somebody was waited for."""
        self._field = None
