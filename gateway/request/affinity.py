"""What is learnt of who holds which prefix, and of who fails, where the replicas are remote and there is a choice between
them; and what a gateway in front of us is told of it."""

from collections.abc import Mapping

from backends.messages import Usage
from backends.upstream import Prepared
from backends.worker.prefix import PREFIX_HEADER, marks_of, write
from gateway.live.in_force import Live
from gateway.state.residency import NO_MARKS, SPECULATIVE_TTL_S, Residency
from policies.advance import Failure
from policies.decision import Call

EJECTS: frozenset[Failure] = frozenset(("late", "lost", "failed"))
"""Failures that speak against the replica, and not against the request, the key, or the crowd before it."""


class Affinity:
    """The prefix of one request, followed through its attempts. `is_relayed`: a gateway asks, for a tenant of its own."""

    __slots__ = ("_is_relayed", "_live", "_residency")

    def __init__(self, live: Live, residency: Residency, is_relayed: bool = False) -> None:
        self._live = live
        self._residency = residency
        self._is_relayed = is_relayed

    def told(self, prepared: Prepared) -> Mapping[str, str]:
        """Headers of an answer: where an engine of ours has this prompt, for the gateway that asked."""
        return {PREFIX_HEADER: write(marks_of(prepared))} if self._is_relayed and prepared.exact else {}

    def sent(self, call: Call, prepared: Prepared) -> None:
        """On its way: requests decided from here on may count on it for a short time."""
        blocks, live = prepared.blocks, self._live
        if blocks and live.groups[call.model].has_choice:
            keeps_s = live.replica(call).keeps.ttl_s
            self._residency.expect(call.replica, blocks, keeps_s if keeps_s < SPECULATIVE_TTL_S else SPECULATIVE_TTL_S)

    async def answered(self, call: Call, prepared: Prepared, sent_before: int | None, usage: Usage | None) -> None:
        """The replica holds the prompt. It was sent so many tokens of it before; what `usage` says of them tells how long it
        keeps what it has."""
        blocks, live = prepared.blocks, self._live
        replica = live.replica(call)
        replica.trust.answered()
        if not (blocks and live.groups[call.model].has_choice):
            return
        keeps, marker = replica.keeps, replica.marker
        expected = sent_before if marker is None else None
        if expected is not None and usage is not None and keeps.was_reused(expected, usage.cached_tokens):
            await self._residency.forget(replica.name)
        marks = NO_MARKS if marker is None else marker.marks(prepared)
        await self._residency.learn(call.replica, blocks, keeps.ttl_s, marks)

    async def failed(self, call: Call, failure: Failure, wait_s: float = 0.0) -> None:
        """Where nobody listens, whatever comes back has an empty cache. `wait_s` is for how long the replica itself said that
        it is not to be asked."""
        replica = self._live.replica(call)
        if replica.is_local:
            return
        if failure == "unreachable":
            replica.trust.failed("absent")
        elif failure in EJECTS:
            replica.trust.failed("failing")
        elif failure == "overloaded" and wait_s > 0:
            replica.trust.full(wait_s)
        if failure == "unreachable" and self._live.groups[call.model].has_choice:
            await self._residency.forget(call.replica)
