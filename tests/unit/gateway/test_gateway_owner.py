"""What one request took is given back once, however its attempt ends."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import nullcontext

import pytest
from servers.cascade_world import Scripted

from backends.errors import UpstreamError
from backends.messages import ChatRequest, Event, Message
from backends.upstream import Prepared, TimeLimits, UpstreamCall
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.request.owner import Owner
from gateway.telemetry.unseen import NullObservation
from policies.decision import Call
from policies.policy import Policy

ASKED = ChatRequest(raw=b"", model="auto", messages=(Message(role="user", text="hi"),))
CALL, PROMPT = Call("m", "a"), Prepared(tokens=10, exact=True)


class Stubborn:
    """An answer that cannot be closed without an error, and counts how often that was tried."""

    def __init__(self, error: BaseException | None) -> None:
        self._error = error
        self.closed = 0

    def __aiter__(self) -> AsyncIterator[Event]:
        raise AssertionError("nobody reads it")

    async def aclose(self) -> None:
        self.closed += 1
        if self._error is not None:
            raise self._error


class Answers(Scripted):
    def __init__(self, answer: Stubborn) -> None:
        super().__init__(())
        self._answer = answer

    async def start(self, call: UpstreamCall) -> Stubborn:  # type: ignore[override]
        await asyncio.sleep(0)
        return self._answer


class Budget:
    def __init__(self) -> None:
        self.settled = 0

    def covers(self, call: Call) -> None: ...

    def covers_beside(self, call: Call) -> None: ...

    def settle(self) -> None:
        self.settled += 1


@pytest.mark.parametrize("by_a_task", [True, False], ids=["beside another", "driven"])
@pytest.mark.parametrize(
    "error",
    [None, UpstreamError("stream_cut", "gone", sent=True), asyncio.CancelledError(), RuntimeError("broken")],
    ids=lambda error: type(error).__name__,
)
async def test_an_attempt_that_nobody_ended_is_closed_and_everything_is_given_back(
    error: BaseException | None, by_a_task: bool
) -> None:
    answer, budget = Stubborn(error), Budget()
    replica = Replica("m", "a", "a", upstream=Answers(answer))
    live = Live(Policy(hash="h", name="p", models={}, routes=()), {"m": (replica,)})
    owner = Owner(live, NullObservation())
    owner.holds(budget)
    attempt = owner.attempt(CALL, PROMPT)
    if by_a_task:
        await asyncio.create_task(attempt.start(ASKED, TimeLimits()))
    else:
        attempt.answer = await attempt.ask(ASKED, TimeLimits())
    assert (live.in_flight, replica.running) == (1, 1)

    is_told = error is not None and not isinstance(error, UpstreamError)
    with pytest.raises(type(error)) if is_told else nullcontext():  # type: ignore[arg-type]
        await owner.aclose()

    await attempt.end("cancelled", None)
    assert (live.in_flight, replica.running, replica.queued_tokens) == (0, 0, 0)
    assert (answer.closed, budget.settled) == (1, 1)
