"""An answer under way over HTTP: streamed event by event, or whole."""

from collections.abc import AsyncIterator, Callable, Sequence

import msgspec

from backends.dialects.openai_chat.reported import ReportedError
from backends.dialects.openai_chat.whole import AnswerError
from backends.errors import UpstreamError
from backends.messages import Event, Wire
from backends.remote.clocks import Clocks
from backends.remote.dialect import StreamReader
from backends.remote.refusals import from_report, from_transport
from backends.sse import Decoder, EventTooLarge, ServerEvent
from backends.transport import TransportError
from backends.transport.decoding import BodyReader
from backends.upstream import Sink


class WholeAnswer(msgspec.Struct, frozen=True):
    """All of it is here already."""

    events: Sequence[Event]

    async def __aiter__(self) -> AsyncIterator[Event]:
        for event in self.events:
            yield event

    async def pour(self, sink: Sink) -> None:
        if not sink.take(self.events):
            await sink.room()

    async def aclose(self) -> None:
        """Nothing is left to cancel."""


class StreamedAnswer:
    """Events of a body, as they come. `on_close` is called exactly once, however it ends."""

    def __init__(
        self, body: BodyReader, stream: StreamReader, clocks: Clocks, key: str, on_close: Callable[[], None]
    ) -> None:
        self._body = body
        self._stream = stream
        self._clocks = clocks
        self._key = key
        self._on_close = on_close
        self._decoder = Decoder()
        self._ready: list[Event] = []
        self._failure: UpstreamError | None = None
        self._over = False
        self._closed = False

    async def begin(self) -> None:
        """Read until the first content, or the end of an empty answer, is in hand. Raises `UpstreamError`."""
        while not any(isinstance(event, Wire) and (event.speaks or event.finishes) for event in self._ready):
            if self._over:
                break
            self._ready += await self._more()
        self._clocks.spoke()

    async def __aiter__(self) -> AsyncIterator[Event]:
        try:
            while self._ready or not self._over:
                ready, self._ready = self._ready, []
                for event in ready:
                    yield event
                if not self._over:
                    self._ready = await self._more()
        finally:
            await self.aclose()

    async def aclose(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._clocks.stop()
        try:
            await self._body.response.aclose(whole=self._over)
        finally:
            self._on_close()

    async def pour(self, sink: Sink) -> None:
        try:
            while self._ready or not self._over:
                ready, self._ready = self._ready, []
                has_room = sink.take(ready) if ready else await self._poured(sink)
                if not has_room:
                    await sink.room()
        finally:
            await self.aclose()

    async def _poured(self, sink: Sink) -> bool:
        """What comes goes to `sink` at once, until there is no room in it, or nothing more comes. Whether there is room."""
        if self._failure is not None:
            raise self._failure
        has_room = True

        def into(data: bytes) -> bool:
            nonlocal has_room
            events: list[Event] = []
            if self._take(data, events):
                self._clocks.came()
            if events:
                has_room = sink.take(events)
            return has_room and not self._over and self._failure is None

        try:
            with self._clocks.until(self._clocks.deadline()):
                await self._body.pour(into)
        except TransportError as error:
            self._end(self._ready, from_transport(error))
        return has_room

    async def _more(self) -> list[Event]:
        """At least one event, or the end. A failure behind good events is raised by the next call."""
        if self._failure is not None:
            raise self._failure
        deadline = self._clocks.deadline()
        events: list[Event] = []
        while not events and not self._over:
            try:
                with self._clocks.until(deadline):
                    data = await self._body.read()
                if self._take(data, events):
                    deadline = self._clocks.deadline()
            except TransportError as error:
                self._end(events, from_transport(error))
        return events

    def _take(self, data: bytes, events: list[Event]) -> bool:
        """Whether an event came, were it one that shows nothing: a ping says that the server is alive. A comment is none."""
        came: Sequence[ServerEvent] = ()
        try:
            came = self._decoder.feed(data)
            for event in came:
                events.extend(self._stream.push(event.data))
                if self._stream.said_done:
                    break
            if not data or self._stream.said_done:
                self._end(events, _cut())
        except (AnswerError, EventTooLarge) as error:
            self._fail(events, UpstreamError("bad_answer", str(error), sent=True))
        except ReportedError as error:
            self._fail(events, from_report(error, self._key))
        return bool(came)

    def _end(self, events: list[Event], otherwise: UpstreamError) -> None:
        """The stream is over: a whole answer if every choice finished, whatever became of the connection."""
        if not self._stream.is_whole:
            return self._fail(events, otherwise)
        self._over = True
        events.extend(self._stream.tail())
        return None

    def _fail(self, events: list[Event], failure: UpstreamError) -> None:
        if not events:
            raise failure
        self._failure = failure


def _cut() -> UpstreamError:
    return UpstreamError("stream_cut", "the upstream ended its stream before the answer was finished", sent=True)
