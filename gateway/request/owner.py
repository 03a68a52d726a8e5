"""What one request holds, and that each thing is given back exactly once, whatever happens."""

from collections.abc import Awaitable
from typing import Protocol

import msgspec

from backends.errors import UpstreamError
from backends.messages import ChatRequest, Usage
from backends.upstream import Answer, Prepared, TimeLimits, UpstreamCall
from gateway.live.in_force import Live, opened
from gateway.live.replicas import Claim, Replica
from gateway.telemetry.observe import AttemptObservation, Observation
from policies.decision import Call


class Attempt(msgspec.Struct, eq=False):
    """One try: a claim on a replica, an answer under way, and the observation of both. Whoever awaits what `ask` returns leaves
    it in `answer`, in the instant in which it is here."""

    replica: Replica
    prepared: Prepared
    claim: Claim
    observation: AttemptObservation
    resident_tokens: int = 0
    answer: Answer | None = None
    streams: bool = False
    is_over: bool = False

    def ask(self, request: ChatRequest, limits: TimeLimits) -> Awaitable[Answer]:
        """The answer to come. Awaiting it raises UpstreamError."""
        self.streams = request.stream
        call = UpstreamCall(
            request=request,
            prepared=self.prepared,
            limits=limits,
            headers=self.observation.headers,
            resident_tokens=self.resident_tokens,
        )
        return opened(self.replica).start(call)

    async def start(self, request: ChatRequest, limits: TimeLimits) -> Answer:
        """For a task of its own. Raises UpstreamError."""
        self.answer = answer = await self.ask(request, limits)
        return answer

    def spoke(self) -> None:
        """The first content is here."""
        self.claim.prefilled(at_once=self.streams)
        self.observation.first_content()

    async def end(self, error_kind: str, usage: Usage | None) -> None:
        """The first word counts: a later one changes nothing."""
        if self.is_over:
            return
        self.is_over = True
        self.claim.release()
        self.observation.end(error_kind, usage)
        if self.answer is not None:
            try:
                await self.answer.aclose()
            except UpstreamError:
                return


class Reserved(Protocol):
    """What was set aside for a request in its budgets."""

    def covers(self, call: Call) -> None: ...

    def covers_beside(self, call: Call) -> None: ...

    def settle(self) -> None: ...


class Owner:
    """A request's hold on the policy in force, on the attempt under way, and on its budgets: from the moment in which it is
    made until `aclose`. `live` is the policy in force that was taken, or an arm of it: whose replicas are asked."""

    __slots__ = ("_attempt", "_observation", "_reserved", "_taken", "attempts", "live")

    def __init__(self, live: Live, observation: Observation) -> None:
        self.live = self._taken = live
        self._observation = observation
        self._attempt: Attempt | None = None
        self._reserved: Reserved | None = None
        self.attempts = 0
        live.enter()

    def holds(self, reserved: Reserved) -> None:
        """Settled when the request is over, however that comes."""
        self._reserved = reserved

    def attempt(self, call: Call, prepared: Prepared, resident_tokens: int | None = None) -> Attempt:
        """Claims the replica at once. `resident_tokens` of the prompt are believed to be there."""
        self.attempts += 1
        if self._reserved is not None:
            self._reserved.covers(call)
        observation, resident = self._observation.attempt(call, self.attempts, resident_tokens), resident_tokens or 0
        replica = self.live.replica(call)
        claim = Claim(replica, prepared.tokens, resident, prepared.blocks)
        self._attempt = attempt = Attempt(replica, prepared, claim, observation, resident)
        return attempt

    def aside(self, call: Call, prepared: Prepared) -> Attempt:
        """An attempt beside the latest one; whoever takes it ends it."""
        if self._reserved is not None:
            self._reserved.covers_beside(call)
        observation, replica = self._observation.attempt(call, self.attempts + 1, None), self.live.replica(call)
        return Attempt(replica, prepared, Claim(replica, prepared.tokens, 0, prepared.blocks), observation)

    def hedge(self, call: Call, prepared: Prepared) -> Attempt:
        """A racing second try; whoever begins it ends it."""
        attempt = self.aside(call, prepared)
        self.attempts += 1
        return attempt

    def take_over(self, attempt: Attempt) -> None:
        """The second try won."""
        self._attempt = attempt

    def adopt(self, attempt: Attempt) -> Attempt:
        """An attempt that began beside another one is the one that counts from here on."""
        self.attempts += 1
        self._attempt = attempt
        return attempt

    async def aclose(self) -> None:
        """Once."""
        try:
            if self._attempt is not None and not self._attempt.is_over:
                await self._attempt.end("cancelled", None)
        finally:
            self._taken.leave()
            if self._reserved is not None:
                self._reserved.settle()
