"""What is learnt of who holds which prefix, and of who fails, where the replicas are remote and there is a choice between
them; and what a gateway in front of us is told of it."""

from collections.abc import Awaitable, Mapping

import msgspec

from backends.messages import Usage
from backends.upstream import Prepared
from backends.worker.prefix import PREFIX_HEADER, marks_of, write
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.state.residency import NO_MARKS, SPECULATIVE_TTL_S, Residency
from policies.advance import Failure
from policies.decision import Call

EJECTS: frozenset[Failure] = frozenset(("late", "lost", "failed"))
"""Failures that speak against the replica, and not against the request, the key, or the crowd before it."""


class Affinity(msgspec.Struct, frozen=True):
    """The prefix of one request, followed through its attempts. `is_relayed`: a gateway asks, for a tenant of its own."""

    live: Live
    residency: Residency
    is_relayed: bool = False

    def told(self, prepared: Prepared) -> Mapping[str, str]:
        """Headers of an answer: where an engine of ours has this prompt, for the gateway that asked."""
        return {PREFIX_HEADER: write(marks_of(prepared))} if self.is_relayed and prepared.exact else {}

    def sent(self, replica: Replica, prepared: Prepared) -> None:
        """On its way: requests decided from here on may count on it for a short time."""
        if prepared.blocks and self.live.groups[replica.model].has_choice:
            keeps_s = replica.keeps.ttl_s
            self.residency.expect(
                replica.name, prepared.blocks, keeps_s if keeps_s < SPECULATIVE_TTL_S else SPECULATIVE_TTL_S
            )

    def answered(
        self, replica: Replica, prepared: Prepared, sent_before: int | None, usage: Usage | None
    ) -> Awaitable[None] | None:
        """The replica holds the prompt. It was sent so many tokens of it before; what `usage` says of them tells how long it
        keeps what it has. What is left to wait for, if anything is to be learnt."""
        replica.trust.answered()
        if not prepared.blocks or not self.live.groups[replica.model].has_choice:
            return None
        keeps, marker = replica.keeps, replica.marker
        expected = sent_before if marker is None else None
        lost = expected is not None and usage is not None and keeps.was_reused(expected, usage.cached_tokens)
        marks = NO_MARKS if marker is None else marker.marks(prepared)
        if lost:
            return self._anew(replica, prepared, marks)
        return self.residency.learn(replica.name, prepared.blocks, keeps.ttl_s, marks)

    async def _anew(self, replica: Replica, prepared: Prepared, marks: bytes) -> None:
        """Nothing of what it had before is left."""
        await self.residency.forget(replica.name)
        await self.residency.learn(replica.name, prepared.blocks, replica.keeps.ttl_s, marks)

    async def failed(self, call: Call, failure: Failure, wait_s: float = 0.0) -> None:
        """Where nobody listens, whatever comes back has an empty cache. `wait_s` is for how long the replica itself said that
        it is not to be asked."""
        replica = self.live.replica(call)
        if replica.is_local:
            return
        if failure == "unreachable":
            replica.trust.failed("absent")
        elif failure in EJECTS:
            replica.trust.failed("failing")
        elif failure == "overloaded" and wait_s > 0:
            replica.trust.full(wait_s)
        if failure == "unreachable" and self.live.groups[call.model].has_choice:
            await self.residency.forget(call.replica)
