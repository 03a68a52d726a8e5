"""What one request holds, and that each thing is given back exactly once, whatever happens."""

from typing import Protocol

from backends.errors import UpstreamError
from backends.messages import ChatRequest, Usage
from backends.upstream import Answer, Prepared, TimeLimits, UpstreamCall
from gateway.live.in_force import Live, opened
from gateway.live.replicas import Claim, Replica
from gateway.telemetry.observe import AttemptObservation, Observation
from policies.decision import Call


class Attempt:
    """One try: a claim on a replica, an answer under way, and the observation of both."""

    __slots__ = ("_answer", "_claim", "_observation", "_replica", "_resident_tokens", "_streams", "is_over", "prepared")

    def __init__(
        self, replica: Replica, prepared: Prepared, observation: AttemptObservation, resident_tokens: int = 0
    ) -> None:
        self.prepared = prepared
        self.is_over = self._streams = False
        self._replica = replica
        self._resident_tokens = resident_tokens
        self._claim = Claim(replica, prepared.tokens, resident_tokens, prepared.blocks)
        self._observation = observation
        self._answer: Answer | None = None

    async def start(self, request: ChatRequest, limits: TimeLimits) -> Answer:
        """Raises UpstreamError."""
        self._streams = request.stream
        call = UpstreamCall(
            request=request,
            prepared=self.prepared,
            limits=limits,
            headers=self._observation.headers,
            resident_tokens=self._resident_tokens,
        )
        self._answer = answer = await opened(self._replica).start(call)
        return answer

    def spoke(self) -> None:
        """The first content is here."""
        self._claim.prefilled(at_once=self._streams)
        self._observation.first_content()

    async def end(self, error_kind: str, usage: Usage | None) -> None:
        """The first word counts: a later one changes nothing."""
        if self.is_over:
            return
        self.is_over = True
        self._claim.release()
        self._observation.end(error_kind, usage)
        if self._answer is not None:
            try:
                await self._answer.aclose()
            except UpstreamError:
                return


class Reserved(Protocol):
    """What was set aside for a request in its budgets."""

    def covers(self, call: Call) -> None: ...

    def covers_beside(self, call: Call) -> None: ...

    def settle(self) -> None: ...


class Owner:
    """A request's hold on the policy in force, on the attempt under way, and on its budgets. Use as `async with`."""

    __slots__ = ("_attempt", "_observation", "_reserved", "_taken", "attempts", "live")

    def __init__(self, live: Live, observation: Observation) -> None:
        self.live = self._taken = live
        self._observation = observation
        self._attempt: Attempt | None = None
        self._reserved: Reserved | None = None
        self.attempts = 0

    async def __aenter__(self) -> "Owner":
        self.live.enter()
        return self

    def answer_by(self, arm: Live) -> None:
        """The policy in force that was taken, or an arm of it: whose replicas are asked."""
        self.live = arm

    def holds(self, reserved: Reserved) -> None:
        """Settled when the request is over, however that comes."""
        self._reserved = reserved

    def attempt(self, call: Call, prepared: Prepared, resident_tokens: int | None = None) -> Attempt:
        """Claims the replica at once. `resident_tokens` of the prompt are believed to be there."""
        self.attempts += 1
        if self._reserved is not None:
            self._reserved.covers(call)
        observation = self._observation.attempt(call, self.attempts, resident_tokens)
        self._attempt = Attempt(self.live.replica(call), prepared, observation, resident_tokens or 0)
        return self._attempt

    def aside(self, call: Call, prepared: Prepared) -> Attempt:
        """An attempt beside the latest one; whoever takes it ends it."""
        if self._reserved is not None:
            self._reserved.covers_beside(call)
        observation = self._observation.attempt(call, self.attempts + 1, None)
        return Attempt(self.live.replica(call), prepared, observation)

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

    async def __aexit__(self, *_: object) -> None:
        try:
            if self._attempt is not None and not self._attempt.is_over:
                await self._attempt.end("cancelled", None)
        finally:
            self._taken.leave()
            if self._reserved is not None:
                self._reserved.settle()
