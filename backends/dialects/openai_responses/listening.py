"""Neutral events, and Chat Completions from servers behind HTTP, as output items, a status and usage."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from backends.dialects.openai_chat.said import said
from backends.dialects.openai_chat.shapes import token_objects
from backends.dialects.openai_responses.output import Logprob, Output
from backends.messages import Delta, Event, Finish, ToolCall, Usage, Whole, Wire

Status = Literal["completed", "incomplete"]

INCOMPLETE: Mapping[str, str] = {"length": "max_output_tokens", "content_filter": "content_filter"}
"""Finish reasons after which an answer is not whole, and what this dialect calls them."""


class Listening:
    """Hears one answer. Only the first choice is heard: this dialect asks for no more."""

    def __init__(self, *, shows_logprobs: bool) -> None:
        self.output = Output()
        self.usage: Usage | None = None
        self._shows_logprobs = shows_logprobs
        self._finish = ""

    def hear(self, event: Event) -> None:
        if isinstance(event, Wire):
            self._read(event.data)
        elif isinstance(event, Whole):
            self._read(event.body)
        elif isinstance(event, Delta):
            shown = token_objects(event.logprobs) if self._shows_logprobs else ()
            self.output.say("text", event.text, shown)
        elif isinstance(event, ToolCall):
            self.output.call(event.place, event.id, event.name, event.arguments)
        elif isinstance(event, Finish):
            self._finish = event.reason
        elif isinstance(event, Usage):
            self.usage = event

    @property
    def status(self) -> Status:
        return "incomplete" if self._finish in INCOMPLETE else "completed"

    @property
    def why_incomplete(self) -> str | None:
        return INCOMPLETE.get(self._finish)

    def _read(self, data: bytes) -> None:
        words = said(data)
        self.output.say("reasoning", words.reasoning)
        self.output.say("text", words.text, _logprobs(data) if self._shows_logprobs else ())
        self.output.say("refusal", words.refusal)
        for part in words.calls:
            self.output.call(part.place, part.id, part.name, part.arguments)
        self._finish = words.finish or self._finish


class _Logprobs(msgspec.Struct):
    content: list[Logprob] | None = None


class _Choice(msgspec.Struct):
    logprobs: _Logprobs | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice] | None = None


_ANSWER = msgspec.json.Decoder(_Answer)


def _logprobs(data: bytes) -> list[Logprob]:
    """Of the first choice's text; those of another shape are none."""
    try:
        choices = _ANSWER.decode(data).choices
    except msgspec.DecodeError:
        return []
    found = choices[0].logprobs if choices else None
    return list(found.content or ()) if found is not None else []
