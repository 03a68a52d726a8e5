"""From what failed inside to what the client is told, and to what `advance()` judges. Tables, and the few words for them."""

import re
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from backends.errors import Kind, UpstreamError
from gateway.errors import (
    UNSUPPORTED,
    BadAnswer,
    BadRequest,
    Disconnected,
    Failed,
    KeyRefused,
    ModelForbidden,
    NoFirstToken,
    NoRoute,
    OverBudget,
    Overloaded,
    Rejected,
    RouterError,
    Silent,
    TooLong,
    TooSlow,
    Unavailable,
    UnknownModel,
    Unreachable,
    Unsupported,
    UpstreamFault,
)
from policies.advance import Failure, Outcome
from policies.decision import Call, Reject, RejectCode

OF_REJECT: Mapping[RejectCode, type[RouterError]] = {
    "unknown_model": UnknownModel,
    "model_not_allowed": ModelForbidden,
    "no_route": NoRoute,
    "context_length_exceeded": TooLong,
    "unsupported_content": Unsupported,
    "unavailable": Unavailable,
    "over_budget": OverBudget,
}

OF_KIND: Mapping[Kind, tuple[type[UpstreamFault] | type[TooLong], Failure]] = {
    "connect_failed": (Unreachable, "unreachable"),
    "bad_answer": (BadAnswer, "lost"),
    "first_content_timeout": (NoFirstToken, "late"),
    "gap_timeout": (Silent, "lost"),
    "total_timeout": (TooSlow, "lost"),
    "stream_cut": (Disconnected, "lost"),
    "overloaded": (Overloaded, "overloaded"),
    "too_long": (TooLong, "refused"),
    "engine_failed": (Failed, "failed"),
}
"""`rejected` and `unsupported` carry more than a kind and are read below."""

TYPE_OF_STATUS = {429: "rate_limit_error", 503: "overloaded_error", 529: "overloaded_error"}

SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,9})?")

MASKED_KEY = re.compile(r"\S*\*{3,}\S*|\b(?:sk|pk|rk)-[\w-]{6,}")


def from_reject(reject: Reject) -> RouterError:
    """A sentence, unless it begins with the name of a field."""
    names_field = bool(reject.param) and reject.message.startswith(reject.param)
    message = reject.message if names_field else sentence(reject.message)
    if reject.code == "over_budget":
        return OverBudget(message, again_in_s=reject.again_in_s, param=reject.param or None)
    return OF_REJECT[reject.code](message, param=reject.param or None)


def sentence(text: str) -> str:
    """A message of the policy as a sentence.

    >>> sentence("no route matches")
    'No route matches.'
    """
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "?", "!")) else ".")


def from_upstream(error: UpstreamError, model: str, *, begun: bool = False) -> RouterError:
    """What became of the attempt on `model`. `begun`: the client saw status 200, so only the error object can tell it.

    Where the original names an address of ours, which is the operator's to know, the words are our own.
    """
    if error.kind == "rejected":
        return from_rejected(error, model, begun=begun)
    if error.kind == "unsupported":
        return BadRequest(error.message, param=error.param or None, code=UNSUPPORTED)
    fault, _ = OF_KIND[error.kind]
    if fault is TooLong:
        return TooLong(error.message, param=error.param or "messages")
    if fault is Unreachable:
        return Unreachable(f"The upstream of model {model!r} cannot be reached.")
    return fault(f"Model {model!r}: {sentence(MASKED_KEY.sub('***', error.message))}", headers=error.headers)


def from_rejected(error: UpstreamError, model: str, *, begun: bool) -> RouterError:
    """The upstream's refusal. Its own words are kept; of a fault of its own, the type is ours.

    A refused credential is ours, not the client's: its text is dropped, for it may show parts of the key.
    """
    status = error.status or 502
    if status in (401, 403):
        return KeyRefused(
            f"The upstream of model {model!r} does not accept this gateway's key. The operator must correct it."
        )
    told = read_error(error.body)
    ours = TYPE_OF_STATUS.get(status) or ("upstream_error" if status >= 500 else "invalid_request_error")
    kind = told.type if told.type and (begun or status < 500) else ours
    return Rejected(
        told.message or f"The upstream of model {model!r} answered {status}.",
        status=503 if status == 529 else status if 400 <= status < 600 else 502,
        type=kind,
        param=told.param,
        code=told.code,
        headers=error.headers,
    )


class Told(msgspec.Struct, frozen=True):
    """An error object in an upstream's words, reduced to the four fields of the envelope."""

    message: str = ""
    type: str | None = None
    param: str | None = None
    code: str | None = None


def read_error(body: bytes) -> Told:
    """Reads `{"error": {...}}`, `{"error": "text"}`, a bare error object and `{"detail": "text"}`; else nothing."""
    try:
        found = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return Told()
    if not isinstance(found, dict):
        return Told()
    inner = found.get("error", found)
    if isinstance(inner, str):
        return Told(MASKED_KEY.sub("***", inner))
    fields: dict[str, Any] = inner if isinstance(inner, dict) else {}
    message = text_or_none(fields.get("message")) or text_or_none(found.get("detail")) or ""
    return Told(
        MASKED_KEY.sub("***", message),
        text_or_none(fields.get("type")),
        text_or_none(fields.get("param")),
        text_or_none(fields.get("code")),
    )


def wait_of(headers: Mapping[str, str], now: float) -> float:
    """Seconds after which an upstream wants to be asked again, 0.0 where it does not say. `now` in seconds of the epoch:
    RFC 9110 section 10.2.3 lets it be a date.

    >>> wait_of({"retry-after": "30"}, 0), wait_of({"retry-after": "30", "retry-after-ms": "1500"}, 0), wait_of({}, 0)
    (30.0, 1.5, 0.0)
    >>> wait_of({"retry-after": "Thu, 01 Jan 1970 00:00:07 GMT"}, 2.0)
    5.0
    """
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        if SECONDS.fullmatch(headers.get(name, "")):
            return float(headers[name]) * unit
    try:
        return max(0.0, parsedate_to_datetime(headers.get("retry-after", "")).timestamp() - now)
    except (ValueError, OverflowError):
        return 0.0


def telling(failures: Sequence[tuple[Call, UpstreamError]], now: float) -> tuple[Call, UpstreamError]:
    """The failure that the client is told of: the last one, and of limits that say when they end the one that ends first."""
    last = failures[-1]
    limits = [(wait, failure) for failure in failures if (wait := limit_of(failure[1], now))]
    return min(limits, key=lambda limit: limit[0])[1] if limit_of(last[1], now) else last


def limit_of(error: UpstreamError, now: float) -> float:
    """Seconds after which whoever is at its limit wants to be asked again, 0.0 where it is at none, or does not say."""
    is_limit = error.kind == "rejected" and error.status in TYPE_OF_STATUS
    return wait_of(error.headers, now) if is_limit else 0.0


def text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def outcome_of(error: UpstreamError, *, stream: bool, content_sent: bool) -> Outcome:
    """The failure as judgement needs it. Only a stream can be `late`: closing it throws the work away, while an answer
    in one piece may have been done and lost."""
    failed = failure_of_status(error.status or 502) if error.kind == "rejected" else failure_of(error.kind)
    if failed == "late" and not stream:
        failed = "lost"
    return Outcome(failed=failed, sent=error.sent, content_sent=content_sent)


def missed() -> UpstreamError:
    """The time limit over all passed."""
    return UpstreamError("total_timeout", "The answer took longer than the policy's total limit.", sent=True)


def failure_of(kind: Kind) -> Failure:
    return OF_KIND[kind][1] if kind in OF_KIND else "refused"


def failure_of_status(status: int) -> Failure:
    """
    >>> [failure_of_status(status) for status in (400, 401, 404, 429, 500, 503)]
    ['refused', 'denied', 'denied', 'overloaded', 'failed', 'overloaded']
    """
    if status in (401, 403, 404):
        return "denied"
    if status in (429, 503, 529):
        return "overloaded"
    return "failed" if status >= 500 else "refused"
