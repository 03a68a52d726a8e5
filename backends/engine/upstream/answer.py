"""An answer of the engine as a stream of neutral events."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator

from backends.engine.api import EngineApi, Output
from backends.engine.batch import DEADLINE
from backends.engine.thread.courier import Mailbox
from backends.engine.upstream.speech import Speech
from backends.errors import Kind, UpstreamError
from backends.messages import Event, Finish, Usage
from backends.upstream import TimeLimits


class LocalAnswer:
    """Choices `0..len(job_ids) - 1`, each one job with its speech, `each` of them in a row for one prompt. Closing cancels the
    jobs that have not ended.

    Iterating raises UpstreamError: engine_failed, overloaded (no memory), stream_cut, the time limit that was passed, or
    unsupported for a schema that turned out to be beyond the limits.
    """

    def __init__(
        self,
        engine: EngineApi,
        mailbox: Mailbox,
        job_ids: list[int],
        speeches: list[Speech],
        limits: TimeLimits,
        *,
        each: int,
    ) -> None:
        self._engine = engine
        self._mailbox = mailbox
        self._choices = {job_id: index for index, job_id in enumerate(job_ids)}
        self._speeches = speeches
        self._open = set(job_ids)
        self._limits = limits
        self._each = each
        self._has_content = False
        self._usages: dict[int, Usage] = {}
        self._events: deque[Event] = deque()
        self._fault: UpstreamError | None = None

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    async def __anext__(self) -> Event:
        while not self._events:
            if self._fault is not None:
                raise self._fault
            if not self._open:
                raise StopAsyncIteration
            await self._wait()
            self._read()
        return self._events.popleft()

    async def aclose(self) -> None:
        self._cancel()
        self._events.clear()
        self._fault = None

    async def _wait(self) -> None:
        """Until something arrives, or the time for it is up."""
        limit = self._limits.gap_s if self._has_content else self._limits.first_content_s
        try:
            async with asyncio.timeout(limit):
                await self._mailbox.arrived.wait()
        except TimeoutError:
            self._fail("gap_timeout" if self._has_content else "first_content_timeout", f"nothing for {limit:g} s")
        self._mailbox.arrived.clear()

    def _read(self) -> None:
        while self._mailbox.outputs:
            output = self._mailbox.outputs.popleft()
            if output.job_id in self._open:
                self._take(output, self._choices[output.job_id])

    def _take(self, output: Output, index: int) -> None:
        if output.text or output.logprobs:
            self._has_content = True
            self._events += self._speeches[index].say(output.text, output.logprobs)
        if output.end is not None:
            self._open.discard(output.job_id)
            self._end(output, index)

    def _end(self, output: Output, index: int) -> None:
        match output.end:
            case "stop" | "length" as reason:
                speech = self._speeches[index]
                self._events += speech.end()
                told = "tool_calls" if speech.calls and reason == "stop" else reason
                self._events.append(Finish(told, index, output.stopped_by))
            case "error" if output.param:
                self._fail("unsupported", output.error, output.param)
            case "error":
                self._fail(output.kind, output.error)
            case _ if output.error == DEADLINE:
                self._fail("total_timeout", output.error)
            case _:
                self._fail("stream_cut", "the job was cancelled")
        if output.usage is not None:
            self._usages[index] = output.usage
        if not self._open and self._fault is None:
            self._events.append(_total(self._usages, self._each))

    def _fail(self, kind: Kind, message: str, param: str = "") -> None:
        """One choice that fails fails the answer, after the events that came before."""
        self._fault = self._fault or UpstreamError(kind, message, sent=True, param=param)
        self._cancel()

    def _cancel(self) -> None:
        for job_id in self._open:
            self._engine.cancel(job_id)
        self._open.clear()


def _total(usages: dict[int, Usage], each: int) -> Usage:
    """A prompt is read once for all of its choices; the first of them says how much of it was cached."""
    firsts = [usages[index] for index in range(0, len(usages), each)]
    return Usage(
        sum(usage.prompt_tokens for usage in firsts),
        sum(usage.completion_tokens for usage in usages.values()),
        sum(usage.cached_tokens for usage in firsts),
    )
