"""To a server of the same dialect and back: the bytes of every field, but for a few."""

from typing import Any

import msgspec

from backends.dialects.openai_chat.forward import SALT, asking_usage, may_name_salt
from backends.dialects.openai_chat.reported import read_usage, reported_error
from backends.dialects.openai_chat.shapes import in_utf8
from backends.dialects.openai_chat.whole import AnswerError
from backends.messages import ChatRequest, Event, Usage, Wire

PATH = "/completions"

_NOTHING = msgspec.Raw()
_NULL = msgspec.Raw(b"null")
_SILENT = frozenset((b"", b"null", b'""'))
_HEAD = ("id", "object", "created", "model", "system_fingerprint")
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_CHOICES = msgspec.json.Decoder(list[dict[str, Any]])


class _Choice(msgspec.Struct):
    index: int | None = None
    text: msgspec.Raw = _NOTHING
    finish_reason: str | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING


_ANSWER = msgspec.json.Decoder(_Answer)


def upstream_body(request: ChatRequest, serves: str) -> bytes:
    """`serves` is the server's name for the model. Usage is always asked of a stream: the books need it."""
    asks_usage = request.stream and not request.include_usage
    if request.model == serves and not asks_usage and not may_name_salt(request.raw):
        return request.raw
    fields = _FIELDS.decode(request.raw)
    fields.pop(SALT, None)
    fields["model"] = msgspec.Raw(msgspec.json.encode(serves))
    if asks_usage:
        fields["stream_options"] = asking_usage(fields.get("stream_options"))
    return msgspec.json.encode(fields)


def correct_completion(body: bytes, model: str) -> tuple[bytes, Usage | None]:
    """Body and usage. Raises `AnswerError`, or `ReportedError` for an error object under a good status."""
    answer, fields = _read(in_utf8(body))
    if not answer.choices or any(bytes(choice.text) in (b"", b"null") for choice in answer.choices):
        raise AnswerError("the upstream's answer has no choices with a text")
    usage = bytes(answer.usage)
    told = msgspec.json.encode({**fields, "model": model})
    return told, None if usage in _SILENT else read_usage(usage)


class CompletionRelay:
    """One stream as the client shall see it: `model` is the name of the catalogue, each choice finishes once (an empty reason
    is none), and usage comes once, at the end, to those who asked."""

    def __init__(self, model: str, *, choices: int, shows_usage: bool) -> None:
        self._model = msgspec.Raw(msgspec.json.encode(model))
        self._choices = choices
        self._shows_usage = shows_usage
        self._head: dict[str, msgspec.Raw] = {}
        self._begun: set[int] = set()
        self._finished: set[int] = set()
        self._usage = b""
        self._counted: Usage | None = None
        self.said_done = False

    @property
    def is_whole(self) -> bool:
        """Every choice that began has finished; all that were asked for, when the server never said `[DONE]`."""
        all_finished = self.said_done or len(self._finished) >= self._choices
        return bool(self._finished) and self._begun <= self._finished and all_finished

    def push(self, data: bytes) -> list[Wire]:
        """Raises `AnswerError`, or `ReportedError` for an error object."""
        if data.startswith(b"[DONE]"):
            self.said_done = True
        if not data or self.said_done:
            return []
        answer, fields = _read(in_utf8(data))
        if bytes(answer.usage) not in _SILENT:
            self._count(bytes(answer.usage))
        fields = self._framed(fields)
        old = [choice.index in self._finished or choice.finish_reason == "" for choice in answer.choices or ()]
        if any(old):
            fields["choices"] = self._corrected(fields["choices"])
            answer = _ANSWER.decode(msgspec.json.encode(fields))
        return [self._wire(fields, answer.choices)] if answer.choices else []

    def tail(self) -> list[Event]:
        """The usage chunk for those who asked, and the usage for the books."""
        usage = self._counted
        if usage is None:
            return []
        if not self._shows_usage:
            return [usage]
        last = {**self._head, "choices": [], "usage": msgspec.Raw(self._usage)}
        return [Wire(msgspec.json.encode(last)), usage]

    def _count(self, usage: bytes) -> None:
        """What tells no counts says nothing, also of those that were told before it."""
        counted = read_usage(usage)
        if counted is not None:
            self._usage, self._counted = usage, counted

    def _wire(self, fields: dict[str, msgspec.Raw], choices: list[_Choice]) -> Wire:
        self._begun |= {choice.index or 0 for choice in choices}
        finished = {choice.index or 0 for choice in choices if choice.finish_reason is not None}
        self._finished |= finished
        speaks = any(bytes(choice.text) not in _SILENT for choice in choices)
        return Wire(msgspec.json.encode(fields), speaks, bool(finished), counted=self._counted)

    def _framed(self, fields: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
        fields["model"] = self._model
        self._head = self._head or {name: msgspec.Raw(bytes(fields[name])) for name in _HEAD if name in fields}
        fields.pop("usage", None)
        return {**self._head, **fields, **({"usage": _NULL} if self._shows_usage else {})}

    def _corrected(self, choices: msgspec.Raw) -> msgspec.Raw:
        kept = [choice for choice in _CHOICES.decode(choices) if choice.get("index", 0) not in self._finished]
        told = [{**choice, "finish_reason": choice.get("finish_reason") or None} for choice in kept]
        return msgspec.Raw(msgspec.json.encode(told))


def _read(data: bytes) -> tuple[_Answer, dict[str, msgspec.Raw]]:
    try:
        answer, fields = _ANSWER.decode(data), _FIELDS.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        raise AnswerError(f"what the upstream says is no text_completion: {error}") from None
    if bytes(answer.error) not in _SILENT:
        raise reported_error(bytes(answer.error), 502)
    if any(choice.index is None for choice in answer.choices or ()):
        return _numbered(fields)
    return answer, fields


def _numbered(fields: dict[str, msgspec.Raw]) -> tuple[_Answer, dict[str, msgspec.Raw]]:
    """Where an upstream leaves its index out, a choice is the one that its place says."""
    said = enumerate(_CHOICES.decode(fields["choices"]))
    choices = [{**choice, "index": at if choice.get("index") is None else choice["index"]} for at, choice in said]
    told = {**fields, "choices": msgspec.Raw(msgspec.json.encode(choices))}
    return _ANSWER.decode(msgspec.json.encode(told)), told
