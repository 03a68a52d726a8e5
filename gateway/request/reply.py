"""Answers that are one piece: JSON bodies and errors, as ASGI events or said to a client."""

from collections.abc import Mapping

from backends.dialects.dialect import Dialect, ErrorFacts
from gateway.errors import UNSUPPORTED, BadRequest, RouterError, reply_headers
from gateway.request.client import Client
from gateway.request.ingress import Send

Headers = Mapping[str, str]

JSON = "application/json"
REQUEST_ID = "x-turnout-request-id"


def encode_headers(headers: Headers) -> list[tuple[bytes, bytes]]:
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]


async def send_head(send: Send, status: int, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": encode_headers(headers)})


async def send_body(send: Send, body: bytes, *, more: bool = False) -> None:
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def send_whole(send: Send, status: int, body: bytes, headers: Headers, content_type: str = JSON) -> None:
    """Head and body with a length."""
    whole = {"content-type": content_type, "content-length": str(len(body)), **headers}
    await send_head(send, status, whole)
    await send_body(send, body)


async def send_error(send: Send, error: RouterError, headers: Headers, dialect: Dialect) -> None:
    status, told, body = error_answer(error, headers, dialect)
    await send_whole(send, status, body, told)


def answer_error(client: Client, error: RouterError, headers: Headers, dialect: Dialect, request_id: str = "") -> None:
    client.answer(*error_answer(error, headers, dialect, request_id))


def error_answer(
    error: RouterError, headers: Headers, dialect: Dialect, request_id: str = ""
) -> tuple[int, Headers, bytes]:
    """Status, headers and body of the answer that an error is."""
    facts = error_facts(error, request_id)
    told = {"content-type": JSON, **headers, **dialect.headers(request_id), **safe_headers(reply_headers(error))}
    return dialect.status(facts), told, dialect.envelope(facts)


def error_facts(error: RouterError, request_id: str) -> ErrorFacts:
    """A field at fault in the client's own body is in its words; who was to answer names it as Chat Completions does."""
    return ErrorFacts(
        message=error.message,
        status=error.status,
        type=error.type,
        param=error.param,
        code=error.code,
        request_id=request_id,
        elsewhere=not isinstance(error, BadRequest) or error.code == UNSUPPORTED,
    )


def safe_headers(headers: Headers) -> Headers:
    """Values that came from elsewhere, as one line of printable ASCII each."""
    return {name: one_line(value) for name, value in headers.items()}


def is_one_line(text: str) -> bool:
    """Of printable ASCII.

    >>> is_one_line("p 0.9"), is_one_line("p 0.9\\n"), is_one_line("é")
    (True, False, False)
    """
    return text.isascii() and text.isprintable()


def one_line(text: str) -> str:
    r"""Printable ASCII on one line; anything else becomes `?`.

    >>> one_line("p 0.9\r\nset-cookie: é")
    'p 0.9??set-cookie: ?'
    """
    if is_one_line(text):
        return text
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text)
