"""One replica of one model behind HTTP, in the dialect that its server speaks."""

from collections.abc import Callable, Mapping
from typing import Protocol

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.forward import Habits
from backends.dialects.openai_chat.reported import ReportedError
from backends.dialects.openai_chat.server import ChatServer
from backends.dialects.openai_chat.whole import AnswerError
from backends.errors import UpstreamError
from backends.messages import ChatRequest
from backends.probes.openai import probe
from backends.remote.address import api_base
from backends.remote.answers import StreamedAnswer, WholeAnswer
from backends.remote.clocks import Clocks, Deadline
from backends.remote.dialect import CountsPrompts, ServerDialect
from backends.remote.prefix import CHUNK_BYTES, prefix_blocks
from backends.remote.prompt import BYTES_PER_TOKEN, estimate_prompt
from backends.remote.refusals import MAX_REFUSAL_BYTES, from_report, from_status, from_transport, unsupported
from backends.transport import HttpRequest, Response, Transport, TransportError
from backends.transport.decoding import BodyReader
from backends.upstream import Answer, Load, Prepared, TimeLimits, UpstreamCall

MAX_ANSWER_BYTES = 64 * 1024 * 1024
USER_AGENT = "turnout"


class Key(Protocol):
    """A secret that cannot be printed by accident."""

    def reveal(self) -> str: ...


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
        heeds: Heeds = lambda call, headers: None,
        salt_field: str = "",
        knows: Knows = lambda prepared: None,
    ) -> None:
        self._serves = serves or model
        self._dialect = dialect or ChatServer(model, self._serves, habits or Habits())
        self._origin, self._path = api_base(at)
        self._transport = transport
        self._key = _checked(key, model)
        self._heeds = heeds
        self._salt_field = salt_field
        self._knows = knows
        self._running = 0
        self._queued_tokens = 0
        self._why_not = ""

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
        return self._knows(prepared)

    def load(self) -> Load:
        """What this process has in flight here; `queued_tokens` are of prompts that no content has answered yet."""
        return Load(
            ready=not self._why_not,
            why_not=self._why_not,
            queued_tokens=self._queued_tokens,
            running=self._running,
        )

    async def probe(self, within_s: float) -> Load:
        """Ask the server whether it is ready, and remember the answer for `load`."""
        readiness = await probe(self._transport, self._origin, self._path, self._headers(), within_s)
        self._why_not = readiness.why_not
        return self.load()

    async def get(self, path: str, accept: str, connect_s: float, *, of_api: bool = True) -> Response:
        """Another page of the same server, below its API or beside that. Raises TransportError."""
        headers = {**self._headers(), "accept": accept}
        target = f"{self._path}{path}" if of_api else path
        return await self._transport.open(HttpRequest("GET", self._origin, target, tuple(headers.items())), connect_s)

    async def post(self, path: str, body: bytes, connect_s: float) -> Response:
        """A page of the same server beside its API. Raises TransportError."""
        headers = {**self._headers(), "accept": "application/json", "content-type": "application/json"}
        return await self._transport.open(
            HttpRequest("POST", self._origin, path, tuple(headers.items()), body), connect_s
        )

    async def count(self, request: ChatRequest, limits: TimeLimits) -> int | None:
        """The prompt's length as the server counts it; None where it cannot be asked. Raises `UpstreamError`."""
        dialect = self._dialect
        if not isinstance(dialect, CountsPrompts):
            return None
        clocks = Clocks(limits, streams=False)
        try:
            asked = self._post(dialect.count_path(request), request, dialect.count_body(request), {})
            response = await self._open(asked, clocks, clocks.total(), limits.connect_s)
            try:
                body = await clocks.wait(BodyReader(response).read_all(MAX_REFUSAL_BYTES), clocks.total())
            finally:
                await response.aclose()
            return dialect.counted(body)
        except RequestFault as fault:
            raise unsupported(fault) from fault
        except TransportError as error:
            raise from_transport(error) from error
        except AnswerError as error:
            raise UpstreamError("bad_answer", str(error), sent=True) from error
        finally:
            clocks.stop()

    async def start(self, call: UpstreamCall) -> Answer:
        """Returns when the first content, or the whole answer, is in hand. Raises `UpstreamError`."""
        tokens = max(0, call.prepared.tokens - call.resident_tokens)
        self._running += 1
        self._queued_tokens += tokens
        try:
            return await (self._stream(call) if call.request.stream else self._whole(call))
        except BaseException:
            self._running -= 1
            raise
        finally:
            self._queued_tokens -= tokens

    async def aclose(self) -> None:
        """The transport belongs to whoever made it."""

    async def _stream(self, call: UpstreamCall) -> Answer:
        clocks = Clocks(call.limits, streams=True)
        try:
            return await self._begun(call, clocks)
        except BaseException:
            clocks.stop()
            raise

    async def _begun(self, call: UpstreamCall, clocks: Clocks) -> Answer:
        response = await self._ask(call, clocks, clocks.deadline())
        try:
            if not _is_event_stream(response):
                await self._read_whole(response, call.request, clocks)
                raise UpstreamError("bad_answer", "the upstream did not stream its answer", sent=True)
            reader = self._dialect.reader(call.request)
            answer = StreamedAnswer(response, reader, clocks, self._secret(), self._leave)
            await answer.begin()
        except TransportError as error:
            await response.aclose()
            raise from_transport(error) from error
        except BaseException:
            await response.aclose()
            raise
        return answer

    async def _whole(self, call: UpstreamCall) -> Answer:
        clocks = Clocks(call.limits, streams=False)
        try:
            response = await self._ask(call, clocks, clocks.total())
            try:
                answer = await self._read_whole(response, call.request, clocks)
            finally:
                await response.aclose()
        finally:
            clocks.stop()
        self._leave()
        return answer

    async def _ask(self, call: UpstreamCall, clocks: Clocks, deadline: Deadline) -> Response:
        response = await self._open(self._request(call), clocks, deadline, call.limits.connect_s)
        self._heeds(call, response.headers)
        return response

    async def _open(self, request: HttpRequest, clocks: Clocks, deadline: Deadline, connect_s: float) -> Response:
        """A response with a good status. Raises `UpstreamError` for every other."""
        try:
            response = await clocks.wait(self._transport.open(request, connect_s), deadline)
        except TransportError as error:
            raise from_transport(error) from error
        if 200 <= response.status < 300:
            return response
        try:
            raise await self._refusal(response, clocks)
        finally:
            await response.aclose()

    async def _refusal(self, response: Response, clocks: Clocks) -> UpstreamError:
        if response.status < 400:
            return UpstreamError("bad_answer", f"the upstream answered {response.status}; redirects are off", sent=True)
        try:
            body = await clocks.wait(BodyReader(response).read_all(MAX_REFUSAL_BYTES), clocks.deadline())
        except (TransportError, UpstreamError):
            body = b""
        return from_status(response.status, response.headers, body, self._secret())

    async def _read_whole(self, response: Response, request: ChatRequest, clocks: Clocks) -> WholeAnswer:
        try:
            body = await clocks.wait(BodyReader(response).read_all(MAX_ANSWER_BYTES), clocks.total())
            return WholeAnswer(self._dialect.whole(body, request))
        except TransportError as error:
            raise from_transport(error) from error
        except AnswerError as error:
            raise UpstreamError("bad_answer", str(error), sent=True) from error
        except ReportedError as error:
            raise from_report(error, self._secret()) from error

    def _request(self, call: UpstreamCall) -> HttpRequest:
        """Raises `UpstreamError` where the dialect has no words for the request."""
        try:
            body = self._dialect.body(call.request)
        except RequestFault as fault:
            raise unsupported(fault) from fault
        if self._salt_field and call.prepared.salt:
            body = salted(body, self._salt_field, call.prepared.salt)
        return self._post(self._dialect.path_of(call.request), call.request, body, call.headers)

    def _post(self, path: str, request: ChatRequest, body: bytes, more: Mapping[str, str]) -> HttpRequest:
        accept = "text/event-stream" if request.stream else "application/json"
        own = {
            **self._headers(),
            **self._dialect.headers_of(request),
            "content-type": "application/json",
            "accept": accept,
        }
        return HttpRequest("POST", self._origin, f"{self._path}{path}", tuple({**more, **own}.items()), body)

    def _headers(self) -> dict[str, str]:
        """The set starts empty: nothing of the client's own headers is here, but those that its dialect carries."""
        return {"user-agent": USER_AGENT, "accept-encoding": "identity", **self._dialect.headers(self._secret())}

    def _secret(self) -> str:
        return self._key.reveal() if self._key is not None else ""

    def _leave(self) -> None:
        self._running -= 1


def _checked(key: Key | None, model: str) -> Key | None:
    text = key.reveal() if key is not None else ""
    if not (text.isascii() and text.isprintable()):
        raise ValueError(f"the key of model {model} holds characters that a header cannot carry")
    return key


def _is_event_stream(response: Response) -> bool:
    return response.headers.get("content-type", "text/event-stream").lower().startswith("text/event-stream")


def salted(body: bytes, field: str, salt: bytes) -> bytes:
    """The same object with one more field, which of several of its name is the one that counts.

    >>> salted(b'{"a":1}', "cache_salt", b"s")
    b'{"a":1,"cache_salt":"73"}'
    """
    return b'%b,"%b":"%b"}' % (body.rstrip()[:-1], field.encode(), salt.hex().encode())
