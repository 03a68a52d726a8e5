"""Refusals of what never became a request: no HTTP, a head that does not end, one connection too many."""

from gateway.connection.openings import status_line
from gateway.errors import Crowded, RouterError, reply_headers
from gateway.request.client import Asker
from gateway.request.reply import JSON, answer_error, error_facts
from gateway.request.whose import dialect_of


def as_bytes(error: RouterError, url: bytes) -> bytes:
    """The whole answer, as the last one of its connection. `url` is what was read of the request's target."""
    dialect = dialect_of(url.partition(b"?")[0].decode("latin-1"), {})
    facts = error_facts(error, "")
    body = dialect.envelope(facts)
    headers = {"content-type": JSON, "content-length": str(len(body)), "connection": "close", **reply_headers(error)}
    lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
    return b"%b%b\r\n%b" % (status_line(dialect.status(facts)), lines.encode("latin-1"), body)


async def turn_away(asker: Asker) -> None:
    """Answers whatever is asked on a connection that is one too many."""
    many = Crowded("More connections are open than this process takes.", headers={"connection": "close"})
    answer_error(asker, many, {}, dialect_of(asker.head.path.decode("latin-1"), asker.head.headers))
