"""How failures of an exchange read as the one error type of upstreams."""

import re
from collections.abc import Mapping

import msgspec

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.reported import ReportedError, reported_error
from backends.errors import Kind, UpstreamError
from backends.transport import TransportError

MAX_REFUSAL_BYTES = 64 * 1024

_SHOWN = frozenset(("retry-after", "retry-after-ms", "x-should-retry"))
_SHOWN_PREFIXES = ("x-ratelimit-", "anthropic-ratelimit-")
_KINDS: Mapping[str, Kind] = {
    "unreachable": "connect_failed",
    "busy": "overloaded",
    "lost": "stream_cut",
    "malformed": "bad_answer",
    "late": "total_timeout",
}
_OUR_KEY_IS_BAD = (401, 403)
_FRAGMENT_CHARS = 4

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_LIST = msgspec.json.Decoder(list[msgspec.Raw])
_HOLD_IT = ("error", "detail", "errors")
_SILENT = (b"", b"null", b"[]", b"{}")


def from_transport(error: TransportError) -> UpstreamError:
    return UpstreamError(_KINDS[error.kind], str(error), sent=error.sent)


def unsupported(fault: RequestFault) -> UpstreamError:
    """A request that the server's dialect has no words for: nothing was sent."""
    return UpstreamError("unsupported", fault.message, sent=False, param=fault.param or "")


def from_report(error: ReportedError, key: str) -> UpstreamError:
    """An error object inside a good answer."""
    return _rejected(error.status, {}, error, key)


def from_status(status: int, headers: Mapping[str, str], body: bytes, key: str) -> UpstreamError:
    """A status of 400 and above. The upstream said itself that it did not answer, so `sent` is False."""
    return _rejected(status, visible(headers), _reported(body, status), key)


def visible(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers of a refusal that a client backs off by, under their own names; nothing else comes along."""
    return {name: value for name, value in headers.items() if name in _SHOWN or name.startswith(_SHOWN_PREFIXES)}


def scrub(text: str, key: str) -> str:
    """Without the key, and without words that begin or end as it does (servers show keys half masked).

    >>> scrub("Incorrect API key provided: kA-se*****9999.", "kA-secret-9999")
    'Incorrect API key provided: ***'
    """
    if not key:
        return text
    text = text.replace(key, "***")
    if len(key) < 2 * _FRAGMENT_CHARS:
        return text
    head, tail = re.escape(key[:_FRAGMENT_CHARS]), re.escape(key[-_FRAGMENT_CHARS:])
    return re.sub(rf"[^\s\"']*(?:{head}[^\s\"']*|{tail})[^\s\"'\w]*", "***", text)


def _rejected(status: int, headers: Mapping[str, str], error: ReportedError | None, key: str) -> UpstreamError:
    if status in _OUR_KEY_IS_BAD:
        message = f"the upstream refused the gateway's own key ({status})"
        return UpstreamError("rejected", message, sent=False, status=status, headers=headers)
    if error is None:
        message = f"the upstream answered {status}"
        return UpstreamError("rejected", message, sent=False, status=status, headers=headers)
    body = scrub(error.body.decode(), key).encode()
    return UpstreamError("rejected", scrub(error.message, key), sent=False, status=status, headers=headers, body=body)


def _reported(body: bytes, status: int) -> ReportedError | None:
    """The error object of a refusal, in the shapes that servers use; None for HTML and the like."""
    try:
        said = _alone(body)
        fields = _FIELDS.decode(said)
    except (msgspec.DecodeError, RecursionError, UnicodeDecodeError):
        return None
    told = [raw for name in _HOLD_IT if (raw := bytes(fields.get(name, b""))) not in _SILENT]
    if told:
        return reported_error(told[0], status)
    return reported_error(said, status) if "message" in fields else None


def _alone(body: bytes) -> bytes:
    """Google's servers put the one object of a refusal into a list."""
    return bytes(_LIST.decode(body)[0]) if body.startswith(b"[") and body.strip() != b"[]" else body
