"""What is learnt of who holds which prefix, where the replicas are remote and there is a choice between them; and what a
gateway in front of us is told of it."""

from collections.abc import Mapping

from backends.upstream import Prepared
from backends.worker.prefix import PREFIX_HEADER, marks_of, write
from gateway.live.in_force import Live
from gateway.request.snapshot import has_choice
from gateway.state.residency import CONFIRMED_TTL_S, SPECULATIVE_TTL_S, Residency
from policies.decision import Call


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

    async def sent(self, call: Call, prepared: Prepared) -> None:
        """On its way: requests decided from here on may count on it for a short time."""
        await self._learn(call, prepared, SPECULATIVE_TTL_S)

    async def answered(self, call: Call, prepared: Prepared) -> None:
        await self._learn(call, prepared, CONFIRMED_TTL_S)

    async def unreachable(self, call: Call) -> None:
        """Nobody listens there: whatever comes back has an empty cache."""
        if has_choice(self._live.replicas[call.model]):
            await self._residency.forget(call.replica)

    async def _learn(self, call: Call, prepared: Prepared, ttl_s: float) -> None:
        if prepared.blocks and has_choice(self._live.replicas[call.model]):
            await self._residency.learn(call.replica, prepared.blocks, ttl_s)
