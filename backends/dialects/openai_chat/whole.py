"""An upstream's unstreamed answer as the client shall see it: the same fields, with what breaks clients put right."""

from collections.abc import Mapping
from typing import Any

import msgspec

from backends.dialects.openai_chat.calls import whole_calls
from backends.dialects.openai_chat.reported import read_usage, refuse_flat_error, reported_error
from backends.dialects.openai_chat.shapes import as_json, in_utf8
from backends.messages import FinishReason, Usage, Whole

_NOTHING = msgspec.Raw()


class _Message(msgspec.Struct):
    role: msgspec.Raw = _NOTHING
    tool_calls: msgspec.Raw = _NOTHING


class _Choice(msgspec.Struct):
    message: _Message
    index: int | None = None
    finish_reason: msgspec.Raw = _NOTHING


_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_CHOICES = msgspec.json.Decoder(list[_Choice] | None)


NO_CALLS = (b"", b"null", b"[]")
NULL = len("null")
"""No name of a role is so short with its quotes."""

FINISHES: Mapping[bytes, FinishReason] = {
    b'"stop"': "stop",
    b'"length"': "length",
    b'"tool_calls"': "tool_calls",
    b'"content_filter"': "content_filter",
}


class AnswerError(ValueError):
    """A body that is no chat.completion."""


def correct_whole(body: bytes, model: str, *, keeps_stop: bool) -> tuple[Whole] | tuple[Whole, Usage]:
    """An answer put right, with the reason why it ended where that was read; and what it took, where that is told. Raises
    `AnswerError`, or `ReportedError` for an error object under a good status."""
    if b"\\u" in body or not body.isascii():
        body = in_utf8(body)
    try:
        fields = _FIELDS.decode(body)
        if "error" in fields and bytes(fields["error"]) != b"null":
            raise reported_error(bytes(fields["error"]), 502)
        choices = _CHOICES.decode(fields.get("choices", b"null"))
        if not choices:
            refuse_flat_error(body)
            raise AnswerError("the upstream's answer has no choices")
        fields["model"] = as_json(model)
        finish = None
        for choice in choices:
            message = choice.message
            if choice.index is None or len(message.role) <= NULL or bytes(message.tool_calls) not in NO_CALLS:
                fields["choices"], finish = _put_right(fields["choices"], keeps_stop), None
                break
            finish = finish or FINISHES.get(bytes(choice.finish_reason))
        whole = Whole(msgspec.json.encode(fields), finish=finish)
        usage = read_usage(fields["usage"]) if "usage" in fields else None
        return (whole,) if usage is None else (whole, usage)
    except (msgspec.DecodeError, RecursionError) as error:
        raise AnswerError(f"the upstream's answer is no chat.completion: {error}") from None


def _put_right(choices: msgspec.Raw, keeps_stop: bool) -> msgspec.Raw:
    raw = msgspec.json.decode(choices)
    return msgspec.Raw(
        msgspec.json.encode([_with_index(at, _with_calls(choice, keeps_stop)) for at, choice in enumerate(raw)])
    )


def _with_index(at: int, choice: dict[str, Any]) -> dict[str, Any]:
    """Where an upstream leaves it out, a choice is the one that its place says."""
    return {**choice, "index": at} if choice.get("index") is None else choice


def _with_calls(choice: dict[str, Any], keeps_stop: bool) -> dict[str, Any]:
    message = choice["message"]
    message["role"] = message.get("role") or "assistant"
    calls = whole_calls(message.get("tool_calls"))
    if not calls:
        return {**choice, "message": {name: value for name, value in message.items() if name != "tool_calls"}}
    reason = choice.get("finish_reason")
    if reason == "stop" and not keeps_stop:
        reason = "tool_calls"
    return {**choice, "message": {**message, "tool_calls": calls}, "finish_reason": reason}
