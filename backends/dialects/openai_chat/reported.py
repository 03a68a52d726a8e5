"""What an upstream of this dialect reports beside the text: its errors, and what the answer took."""

from typing import Annotated, Any

import msgspec

from backends.messages import Usage

STATUS_BY_WORD = {
    "invalid_request_error": 400,
    "BadRequestError": 400,
    "context_length_exceeded": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "NotFoundError": 404,
    "model_not_found": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "overloaded_error": 503,
    "service_unavailable": 503,
    "timeout_error": 504,
}

_TYPE_BY_STATUS = {400: "invalid_request_error", 404: "invalid_request_error", 429: "rate_limit_error"}


Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 48)]
"""What a count of tokens can be: never below zero, and far below what the books and counters can carry."""


class _Details(msgspec.Struct):
    cached_tokens: Count | None = None
    cache_write_tokens: Count | None = None


class _CompletionDetails(msgspec.Struct):
    reasoning_tokens: Count | None = None


class _Usage(msgspec.Struct):
    prompt_tokens: Count
    completion_tokens: Count | None = None
    prompt_tokens_details: _Details | None = None
    completion_tokens_details: _CompletionDetails | None = None


_USAGE = msgspec.json.Decoder(_Usage, strict=False)
"""Some servers tell counts as floats."""

_ANY = msgspec.json.Decoder()


class ReportedError(Exception):
    """An error object where an answer was due. `body` is a whole envelope, `status` what it amounts to."""

    def __init__(self, body: bytes, message: str, status: int) -> None:
        super().__init__(message)
        self.body = body
        self.message = message
        self.status = status


def reported_error(raw: bytes, default_status: int) -> ReportedError:
    """From the value of an `error` key: an object, or a bare message. `code` may be a status number."""
    value = _value(raw)
    error = value if isinstance(value, dict) else {"message": value}
    code, kind = error.get("code"), error.get("type")
    status = _number(code) or _status(code, kind, default_status)
    shown = {
        "message": _text(error.get("message")) or "the upstream reported an error without a message",
        "type": _text(kind) or _TYPE_BY_STATUS.get(status, "upstream_error"),
        "param": _text(error.get("param")),
        "code": _text(code),
    }
    return ReportedError(msgspec.json.encode({"error": shown}), str(shown["message"]), status)


def refuse_flat_error(data: bytes) -> None:
    """Raises ReportedError for an error whose fields lie flat, as in `{"object": "error", "message": "no"}`."""
    if b'"error"' not in data:
        return
    value = _value(data)
    if isinstance(value, dict) and value.get("object") == "error":
        raise reported_error(data, 502)


def read_usage(raw: bytes | msgspec.Raw) -> Usage | None:
    """None when the numbers are not there, or cannot be counts. No more was cached than there was of the prompt, no more was
    kept than there was of the rest, and no more was thought than there was of the completion."""
    try:
        usage = _USAGE.decode(raw)
    except msgspec.DecodeError:
        return None
    prompt, completion = usage.prompt_tokens, usage.completion_tokens or 0
    known, thought = usage.prompt_tokens_details, usage.completion_tokens_details
    reasoning = min(thought.reasoning_tokens or 0, completion) if thought is not None else 0
    if known is None:
        return Usage(prompt, completion, 0, reasoning)
    cached = min(known.cached_tokens or 0, prompt)
    return Usage(prompt, completion, cached, reasoning, min(known.cache_write_tokens or 0, prompt - cached))


def _value(raw: bytes) -> object:
    """What holds a number beyond all numbers, or is nested beyond all measure, is told as it was written."""
    try:
        return _ANY.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        return raw.decode(errors="replace")


def _number(code: object) -> int | None:
    """A status that stands where a code does, also as text."""
    number = int(code) if isinstance(code, str) and len(code) == 3 and code.isdecimal() else code
    return number if isinstance(number, int) and 400 <= number <= 599 else None


def _status(code: object, kind: object, default: int) -> int:
    words = [word for word in (code, kind) if isinstance(word, str)]
    return next((STATUS_BY_WORD[word] for word in words if word in STATUS_BY_WORD), default)


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()
