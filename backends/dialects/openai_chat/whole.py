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
    content: msgspec.Raw = _NOTHING
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

MOST_AROUND = 1_024
"""Bytes around a text that are kept."""

FINISHES: Mapping[bytes, FinishReason] = {
    b'"stop"': "stop",
    b'"length"': "length",
    b'"tool_calls"': "tool_calls",
    b'"content_filter"': "content_filter",
}


class AnswerError(ValueError):
    """A body that is no chat.completion."""


class Around(msgspec.Struct, frozen=True):
    """What stands before and after the text in the choices of an answer that needed nothing, and why such a one ended."""

    before: bytes
    after: bytes
    finish: FinishReason | None

    def fits(self, choices: bytes) -> bool:
        """The same around another text. Without a quote in it, and no backslash before the one behind it, it is one string.

        >>> Around(b'[{"a":"', b'"}]', None).fits(b'[{"a":"b"}]'), Around(b'[{"a":"', b'"}]', None).fits(b'[{"a":"","b":"c"}]')
        (True, False)
        """
        begin, end = len(self.before), len(choices) - len(self.after)
        if begin > end or not (choices.startswith(self.before) and choices.endswith(self.after)):
            return False
        return choices.find(b'"', begin, end) < 0 and not choices.endswith(b"\\", begin, end)


class WholeReader:
    """Answers of one model, which carry its name. Most differ from the one before in their text alone: then what is around it
    is known to need nothing."""

    def __init__(self, model: str) -> None:
        self._model = as_json(model)
        self._around: Around | None = None

    def correct(self, body: bytes, *, keeps_stop: bool) -> tuple[Whole] | tuple[Whole, Usage]:
        """An answer put right, with the reason why it ended where that was read; and what it took, where that is told. Raises
        `AnswerError`, or `ReportedError` for an error object under a good status."""
        if b"\\u" in body or not body.isascii():
            body = in_utf8(body)
        try:
            fields = _FIELDS.decode(body)
            if "error" in fields and bytes(fields["error"]) != b"null":
                raise reported_error(bytes(fields["error"]), 502)
            around, choices = self._around, bytes(fields.get("choices", b"null"))
            if around is not None and around.fits(choices):
                finish = around.finish
            else:
                fields["choices"], finish = self._read(body, choices, keeps_stop)
            fields["model"] = self._model
            whole = Whole(msgspec.json.encode(fields), finish=finish)
            usage = read_usage(fields["usage"]) if "usage" in fields else None
            return (whole,) if usage is None else (whole, usage)
        except (msgspec.DecodeError, RecursionError) as error:
            raise AnswerError(f"the upstream's answer is no chat.completion: {error}") from None

    def _read(self, body: bytes, raw: bytes, keeps_stop: bool) -> tuple[msgspec.Raw, FinishReason | None]:
        """The choices as the client shall see them, and why the first ended that says so, where that was read."""
        choices = _CHOICES.decode(raw)
        if not choices:
            refuse_flat_error(body)
            raise AnswerError("the upstream's answer has no choices")
        finish = None
        for choice in choices:
            message = choice.message
            if choice.index is None or len(message.role) <= NULL or bytes(message.tool_calls) not in NO_CALLS:
                return _put_right(msgspec.Raw(raw), keeps_stop), None
            finish = finish or FINISHES.get(bytes(choice.finish_reason))
        self._around = _around(raw, bytes(choices[0].message.content), finish)
        return msgspec.Raw(raw), finish


def _around(choices: bytes, text: bytes, finish: FinishReason | None) -> Around | None:
    """None where the text is no string, or stands there twice, or what is around it is too long to be kept."""
    at = choices.find(text)
    if not text.startswith(b'"') or choices.find(text, at + 1) >= 0 or len(choices) - len(text) > MOST_AROUND:
        return None
    return Around(choices[: at + 1], choices[at + len(text) - 1 :], finish)


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
