"""An upstream's own stream as the client shall see it: the same events, with what breaks clients put right.

A chunk that needs nothing keeps its fields as raw JSON. The rules: `model` is the name of the catalogue; a role in the
first delta of a choice and in no other; one finish for each choice, and an empty one is none; tool calls numbered (see
`calls`); `stop` after tool calls is `tool_calls`, unless the client forced the function; usage shown once, at the end,
to those who asked. An index that is left out, or null, is 0.
"""

from typing import Any

import msgspec

from backends.dialects.openai_chat.calls import CallFragments, as_list
from backends.dialects.openai_chat.reported import read_usage, refuse_flat_error, reported_error
from backends.dialects.openai_chat.shapes import in_utf8
from backends.dialects.openai_chat.stencil import MARK, Stencil, marked, stencil
from backends.dialects.openai_chat.whole import AnswerError
from backends.messages import Event, Usage, Wire

_NOTHING = msgspec.Raw()
_NULL = msgspec.Raw(b"null")
_SILENT = frozenset((b"", b"null", b'""', b"[]"))
ENDS_OF_CALLS = ("stop", "tool_calls")
"""Finish reasons after which no argument is missing because it was cut off."""

_HEAD = ("id", "object", "created", "model", "system_fingerprint")


class _Delta(msgspec.Struct):
    role: msgspec.Raw = _NOTHING
    content: msgspec.Raw = _NOTHING
    tool_calls: msgspec.Raw = _NOTHING
    reasoning_content: msgspec.Raw = _NOTHING
    reasoning: msgspec.Raw = _NOTHING
    refusal: msgspec.Raw = _NOTHING
    audio: msgspec.Raw = _NOTHING

    def speaks(self) -> bool:
        return bytes(self.content) not in _SILENT or self._speaks_otherwise()

    def is_text(self) -> bool:
        """More of what was begun, and nothing beside it."""
        return bytes(self.content) not in _SILENT and not bytes(self.role) and not self._speaks_otherwise()

    def _speaks_otherwise(self) -> bool:
        fields = (self.tool_calls, self.reasoning_content, self.reasoning, self.refusal, self.audio)
        return any(bytes(field) not in _SILENT for field in fields)


class _Choice(msgspec.Struct):
    index: int | None = None
    delta: _Delta | None = None
    finish_reason: str | None = None


class _Chunk(msgspec.Struct):
    choices: list[_Choice] | None = None
    usage: msgspec.Raw = _NOTHING
    error: msgspec.Raw = _NOTHING


_CHUNK = msgspec.json.Decoder(_Chunk)
_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_ANY = msgspec.json.Decoder()


class ChunkError(AnswerError):
    """An event that is no chunk of this dialect."""


class Relay:
    """One stream. `push` the data of each event, then `tail()` once it is over and `is_whole`."""

    def __init__(self, model: str, *, choices: int, shows_usage: bool, keeps_stop: bool) -> None:
        self._model = msgspec.Raw(msgspec.json.encode(model))
        self._choices = choices
        self._shows_usage = shows_usage
        self._keeps_stop = keeps_stop
        self._head: dict[str, msgspec.Raw] = {}
        self._begun: set[int] = set()
        self._finished: set[int] = set()
        self._calls: dict[int, CallFragments] = {}
        self._usage = _NOTHING
        self._counted: Usage | None = None
        self._stencil: Stencil | None = None
        self.said_done = False

    @property
    def is_whole(self) -> bool:
        """Every choice that began has finished; all that were asked for, when the upstream never said `[DONE]`."""
        return bool(self._finished) and self._begun <= self._finished and (self.said_done or self._all_finished)

    @property
    def _all_finished(self) -> bool:
        return len(self._finished) >= self._choices

    def push(self, data: bytes) -> list[Wire]:
        """Raises `ChunkError`, or `ReportedError` for an error object."""
        if self._stencil is not None and (shown := self._stencil.shown(data)) is not None:
            return [Wire(shown, speaks=True, counted=self._counted)]
        if data.startswith(b"[DONE]"):
            self.said_done = True
        if not data or self.said_done:
            return []
        try:
            return self._push(in_utf8(data))
        except (msgspec.DecodeError, RecursionError) as error:
            raise ChunkError(f"an event of the upstream is no chat.completion.chunk: {error}") from None

    def tail(self) -> list[Event]:
        """The usage chunk for those who asked, and the usage for the books."""
        usage = self._counted
        if usage is None:
            return []
        if not self._shows_usage:
            return [usage]
        last = {**self._head, "choices": msgspec.Raw(b"[]"), "usage": self._usage}
        return [Wire(msgspec.json.encode(last)), usage]

    def _push(self, data: bytes) -> list[Wire]:
        chunk, self._stencil = _CHUNK.decode(data), None
        if bytes(chunk.error) not in _SILENT:
            raise reported_error(bytes(chunk.error), 502)
        if bytes(chunk.usage) not in _SILENT:
            self._count(bytes(chunk.usage))
        if not chunk.choices:
            self._remember(data)
            return []
        choices = chunk.choices
        alone = len(choices) == 1 or len(choices) == len({choice.index for choice in choices})
        if alone and all(map(self._is_plain, choices)):
            return self._pass(data, choices)
        return self._correct(data)

    def _is_plain(self, choice: _Choice) -> bool:
        if choice.delta is None or choice.index in self._finished or bytes(choice.delta.tool_calls) not in _SILENT:
            return False
        if choice.finish_reason == "" or choice.index is None:
            return False
        has_role = bytes(choice.delta.role) == b'"assistant"'
        if has_role is (choice.index in self._begun) or (not has_role and bytes(choice.delta.role)):
            return False
        return not (choice.finish_reason is not None and self._calls.get(choice.index))

    def _pass(self, data: bytes, choices: list[_Choice]) -> list[Wire]:
        self._stencil = self._stencil_of(data, choices[0]) if self._choices == 1 else None
        speaks = finishes = False
        for choice in choices:
            index = choice.index or 0
            self._begun.add(index)
            speaks = speaks or (choice.delta is not None and choice.delta.speaks())
            if choice.finish_reason is not None:
                finishes = True
                self._finished.add(index)
        return [Wire(msgspec.json.encode(self._framed(_FIELDS.decode(data))), speaks, finishes, counted=self._counted)]

    def _stencil_of(self, data: bytes, choice: _Choice) -> Stencil | None:
        """For the chunks that follow this one, where it is one more piece of a text and no more."""
        if choice.delta is None or choice.finish_reason is not None or not choice.delta.is_text():
            return None
        came = marked(data, bytes(choice.delta.content))
        if came is None or text_of(came) != MARK:
            return None
        return stencil(came, msgspec.json.encode(self._framed(_FIELDS.decode(came))))

    def _correct(self, data: bytes) -> list[Wire]:
        fields = _FIELDS.decode(data)
        kept = [self._corrected(choice) for choice in _ANY.decode(fields["choices"])]
        choices = [choice for choice in kept if choice is not None]
        if not choices:
            return []
        fields["choices"] = msgspec.Raw(msgspec.json.encode(choices))
        view = msgspec.json.decode(fields["choices"], type=list[_Choice])
        speaks = any(choice.delta is not None and choice.delta.speaks() for choice in view)
        finishes = any(choice.finish_reason is not None for choice in view)
        return [Wire(msgspec.json.encode(self._framed(fields)), speaks, finishes, counted=self._counted)]

    def _corrected(self, choice: dict[str, Any]) -> dict[str, Any] | None:
        """The choice as it shall be; None when it came after its finish."""
        index = choice["index"] = choice.get("index") or 0
        if index in self._finished:
            return None
        delta = choice.get("delta") or {}
        delta.pop("role", None)
        if index not in self._begun:
            self._begun.add(index)
            delta = {"role": "assistant", **delta}
        if delta.get("tool_calls") is not None:
            calls = self._calls.setdefault(index, CallFragments())
            delta["tool_calls"] = [calls.push(call) for call in as_list(delta["tool_calls"])]
        reason = choice.get("finish_reason") or None
        if reason is not None:
            self._finished.add(index)
        if reason in ENDS_OF_CALLS and (called := self._calls.get(index)):
            reason = reason if self._keeps_stop else "tool_calls"
            if unsaid := called.unsaid():
                delta["tool_calls"] = [*(delta.get("tool_calls") or ()), *unsaid]
        return {**choice, "delta": delta, "finish_reason": reason}

    def _count(self, usage: bytes) -> None:
        """What tells no counts says nothing, also of those that were told before it."""
        counted = read_usage(usage)
        if counted is not None:
            self._usage, self._counted = msgspec.Raw(usage), counted

    def _framed(self, fields: dict[str, msgspec.Raw]) -> dict[str, msgspec.Raw]:
        """The fields around the choices."""
        fields["model"] = self._model
        if not self._head:
            self._head = {key: msgspec.Raw(bytes(fields[key])) for key in _HEAD if key in fields}
        if not fields.keys() >= self._head.keys():
            fields = {**self._head, **fields}
        if self._shows_usage:
            fields["usage"] = _NULL
        else:
            fields.pop("usage", None)
        return fields

    def _remember(self, data: bytes) -> None:
        """What a chunk without choices says of the stream. Raises ReportedError where it is an error."""
        refuse_flat_error(data)
        if not self._head:
            fields = _FIELDS.decode(data)
            self._head = {key: msgspec.Raw(bytes(fields[key])) for key in _HEAD if key in fields}
            self._head["model"] = self._model


def text_of(data: bytes) -> str:
    """What the first choice of a chunk says, "" where it says nothing in words."""
    choices = _CHUNK.decode(data).choices
    raw = bytes(choices[0].delta.content) if choices and choices[0].delta is not None else b""
    text = _ANY.decode(raw) if raw else ""
    return text if isinstance(text, str) else ""
