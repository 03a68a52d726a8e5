"""The world as one request sees it, and has the same view of again until the event loop has turned: before that nobody else can
have claimed anything or given it back."""

import asyncio
from collections.abc import Mapping

import msgspec

from backends.upstream import Prepared
from gateway.live.in_force import Live
from gateway.request.lateness import with_ttfts
from gateway.request.snapshot import World, take_snapshot
from gateway.state.residency import Seen
from policies.estimates import Span
from policies.experiments.enrol import Ramps
from policies.facts import Facts
from policies.field import Field, field_of
from policies.policy import Policy
from policies.snapshot import Snapshot
from policies.unsettled import left_open


class Outlook:
    """`policy` decides, `live` is looked at: the arm of the request's variants. `forced` and `ramps` tell how experiments stood
    when that was found."""

    __slots__ = ("_draw", "_facts", "_field", "_forced", "_live", "_policy", "_prepared", "_ramps", "_seen", "_world")

    def __init__(
        self,
        policy: Policy,
        live: Live,
        facts: Facts,
        *,
        prepared: Mapping[str, Prepared],
        seen: Mapping[str, Seen],
        world: World,
        draw: float,
        forced: Mapping[str, str],
        ramps: Ramps,
    ) -> None:
        self._policy, self._live, self._facts = policy, live, facts
        self._prepared, self._seen, self._world, self._draw = prepared, seen, world, draw
        self._forced, self._ramps = forced, ramps
        self._field: Field | None = None

    def field(self) -> Field:
        """Who may answer, as things are."""
        if self._field is None:
            self._field = field_of(self._policy, self._facts, self._snapshot())
            asyncio.get_running_loop().call_soon(self._forget)
        return self._field

    def left_open(self, span: Span) -> tuple[int, ...]:
        """Where, as things are, a quick estimate will not do."""
        return left_open(self.field(), span)

    def _forget(self) -> None:
        self._field = None

    def _snapshot(self) -> Snapshot:
        live, world = self._live, self._world
        snapshot = take_snapshot(live, self._prepared, self._seen, world, self._draw)
        if self._forced or self._ramps:
            snapshot = msgspec.structs.replace(snapshot, experiments=self._forced, ramps=self._ramps)
        if live.policy.resilience.hedge is None:
            return snapshot
        return with_ttfts(snapshot, live.policy, self._facts, world.hedges.ttfts)
