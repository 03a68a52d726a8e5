"""One replica of one model behind HTTP, in the dialect that its server speaks."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.forward import Habits
from backends.dialects.openai_chat.reported import ReportedError
from backends.dialects.openai_chat.server import ChatServer
from backends.dialects.openai_chat.whole import AnswerError
from backends.errors import UpstreamError
from backends.messages import ChatRequest
from backends.probes.openai import probe
from backends.remote.answers import StreamedAnswer, WholeAnswer
from backends.remote.asking import Asking, Key, checked
from backends.remote.clocks import Clocks
from backends.remote.dialect import CountsPrompts, ServerDialect
from backends.remote.prefix import CHUNK_BYTES, prefix_blocks
from backends.remote.prompt import BYTES_PER_TOKEN, estimate_prompt
from backends.remote.refusals import MAX_REFUSAL_BYTES, from_report, from_status, from_transport, unsupported
from backends.sse import ENOUGH_BYTES, begins_as_stream
from backends.transport import Response, Transport, TransportError
from backends.transport.alarms import Alarms
from backends.transport.decoding import BodyReader, read_whole
from backends.upstream import Answer, Load, Prepared, TimeLimits, UpstreamCall

MAX_ANSWER_BYTES = 64 * 1024 * 1024
GOOD = range(200, 300)
FAILURES = (TransportError, AnswerError, ReportedError, RequestFault)

Knows = Callable[[Prepared], int | None]
"""Tokens of a prompt that the server holds, where that is known for sure."""

Heeds = Callable[[UpstreamCall, Mapping[str, str]], None]


class RemoteUpstream:
    """`model` is the catalogue's name, `serves` the server's own name for it, `at` its base URL.

    The key goes to the origin of `at` and nowhere else. `dialect` is the server's, Chat Completions with `habits` where none
    is given. `heeds` hears the headers of every good answer, `knows` says what the server holds. `salt_field` of the body
    keeps the caches of tenants apart, where the server has such a field. Raises ValueError when `at` is no http(s) address,
    or when no header could carry the key.
    """

    def __init__(
        self,
        *,
        model: str,
        at: str,
        transport: Transport,
        serves: str = "",
        key: Key | None = None,
        habits: Habits | None = None,
        dialect: ServerDialect | None = None,
        heeds: Heeds | None = None,
        salt_field: str = "",
        knows: Knows | None = None,
    ) -> None:
        self._serves = serves or model
        self._dialect = dialect or ChatServer(model, self._serves, habits or Habits())
        self._asking = Asking(at, self._dialect, checked(key, model), salt_field)
        self._transport = transport
        self._heeds = heeds
        self._knows = knows
        self._running = 0
        self._queued_tokens = 0
        self._why_not = ""
        self._said = Load()
        self._alarms: Alarms | None = None

    def prepare(self, request: ChatRequest, salt: bytes) -> Prepared:
        blocks = prefix_blocks(request, self._serves, salt)
        return Prepared(
            tokens=estimate_prompt(request, salt),
            exact=False,
            blocks=blocks,
            block_tokens=CHUNK_BYTES // BYTES_PER_TOKEN,
            salt=salt,
        )

    def resident_tokens(self, prepared: Prepared) -> int | None:
        """A server does not say what it holds, unless somebody hears it."""
        return None if self._knows is None else self._knows(prepared)

    def load(self) -> Load:
        """What this process has in flight here; `queued_tokens` are of prompts that no content has answered yet. The same value
        again until that changes."""
        said, running, queued = self._said, self._running, self._queued_tokens
        if said.running == running and said.queued_tokens == queued and said.why_not == self._why_not:
            return said
        why_not = self._why_not
        self._said = Load(ready=not why_not, why_not=why_not, queued_tokens=queued, running=running)
        return self._said

    async def probe(self, within_s: float) -> Load:
        """Ask the server whether it is ready, and remember the answer for `load`."""
        asking = self._asking
        readiness = await probe(self._transport, asking.origin, asking.base, asking.headers(), within_s)
        self._why_not = readiness.why_not
        return self.load()

    async def get(self, path: str, accept: str, connect_s: float, *, of_api: bool = True) -> Response:
        """Another page of the same server, below its API or beside that. Raises TransportError."""
        target = f"{self._asking.base}{path}" if of_api else path
        return await self._transport.open(self._asking.get(target, accept), connect_s)

    async def post(self, path: str, body: bytes, connect_s: float) -> Response:
        """A page of the same server beside its API. Raises TransportError."""
        return await self._transport.open(self._asking.post(path, body), connect_s)

    async def count(self, request: ChatRequest, limits: TimeLimits) -> int | None:
        """The prompt's length as the server counts it; None where it cannot be asked. Raises `UpstreamError`."""
        dialect = self._dialect
        if not isinstance(dialect, CountsPrompts):
            return None
        response: Response | None = None
        try:
            asked = self._asking.question(dialect.count_path(request), request, dialect.count_body(request))
            response = await self._transport.open(asked, limits.connect_s, limits.total_s)
            if response.status not in GOOD:
                raise await self._refusal(response, Clocks(limits, streams=False))
            return dialect.counted(await read_whole(response, MAX_REFUSAL_BYTES))
        except FAILURES as error:
            raise self._failure(error) from error
        finally:
            if response is not None:
                await response.aclose()

    def start(self, call: UpstreamCall) -> Coroutine[object, None, Answer]:
        """Returns when the first content, or the whole answer, is in hand. Raises `UpstreamError`."""
        return self._stream(call) if call.request.stream else self._whole(call)

    async def aclose(self) -> None:
        """The transport belongs to whoever made it."""

    async def _whole(self, call: UpstreamCall) -> Answer:
        limits, response = call.limits, None
        tokens = max(call.prepared.tokens - call.resident_tokens, 0)
        self._running += 1
        self._queued_tokens += tokens
        try:
            response = await self._transport.open(self._asking.ask(call), limits.connect_s, limits.total_s)
            if response.status not in GOOD:
                raise await self._refusal(response, Clocks(limits, streams=False))
            if self._heeds is not None:
                self._heeds(call, response.headers)
            return WholeAnswer(self._dialect.whole(await read_whole(response, MAX_ANSWER_BYTES), call.request))
        except FAILURES as error:
            raise self._failure(error) from error
        finally:
            self._queued_tokens -= tokens
            self._running -= 1
            if response is not None and not response.done:
                await response.aclose()

    async def _stream(self, call: UpstreamCall) -> Answer:
        clocks = Clocks(call.limits, streams=True, alarms=self._alarms or self._set_alarms())
        tokens = max(call.prepared.tokens - call.resident_tokens, 0)
        self._running += 1
        self._queued_tokens += tokens
        try:
            return await self._begun(call, clocks)
        except BaseException:
            clocks.stop()
            self._running -= 1
            raise
        finally:
            self._queued_tokens -= tokens

    def _set_alarms(self) -> Alarms:
        """On the event loop of the first call, as the transport's connections are."""
        self._alarms = Alarms(asyncio.get_running_loop())
        return self._alarms

    async def _begun(self, call: UpstreamCall, clocks: Clocks) -> Answer:
        response = await self._open(call, clocks)
        try:
            if self._heeds is not None:
                self._heeds(call, response.headers)
            body = BodyReader(response)
            if not await _is_event_stream(response, body, clocks):
                whole = await clocks.wait(read_whole(response, MAX_ANSWER_BYTES, body), clocks.total())
                self._dialect.whole(whole, call.request)
                raise UpstreamError("bad_answer", "the upstream did not stream its answer", sent=True)
            reader = self._dialect.reader(call.request)
            answer = StreamedAnswer(body, reader, clocks, self._asking.secret, self._leave)
            await answer.begin()
        except (TransportError, AnswerError, ReportedError) as error:
            await response.aclose()
            raise self._failure(error) from error
        except BaseException:
            await response.aclose()
            raise
        return answer

    async def _open(self, call: UpstreamCall, clocks: Clocks) -> Response:
        """A response with a good status. Raises `UpstreamError` for every other."""
        try:
            with clocks.until(clocks.deadline()):
                response = await self._transport.open(self._asking.ask(call), call.limits.connect_s)
        except (TransportError, RequestFault) as error:
            raise self._failure(error) from error
        if response.status in GOOD:
            return response
        try:
            raise await self._refusal(response, clocks)
        finally:
            await response.aclose()

    async def _refusal(self, response: Response, clocks: Clocks) -> UpstreamError:
        if response.status < 400:
            return UpstreamError("bad_answer", f"the upstream answered {response.status}; redirects are off", sent=True)
        try:
            body = await clocks.wait(read_whole(response, MAX_REFUSAL_BYTES), clocks.deadline())
        except (TransportError, UpstreamError):
            body = b""
        finally:
            clocks.stop()
        return from_status(response.status, response.headers, body, self._asking.secret)

    def _failure(self, error: Exception) -> UpstreamError:
        """One of `FAILURES` in the words of upstreams."""
        if isinstance(error, TransportError):
            return from_transport(error)
        if isinstance(error, RequestFault):
            return unsupported(error)
        if isinstance(error, ReportedError):
            return from_report(error, self._asking.secret)
        return UpstreamError("bad_answer", str(error), sent=True)

    def _leave(self) -> None:
        self._running -= 1


async def _is_event_stream(response: Response, body: BodyReader, clocks: Clocks) -> bool:
    """By its type; where that says something else, as some servers call every text plain, by how it begins."""
    if response.headers.get("content-type", "text/event-stream").lower().startswith("text/event-stream"):
        return True
    return begins_as_stream(await clocks.wait(body.begin(ENOUGH_BYTES), clocks.deadline()))
