"""What an answer has said so far, gathered from its events, and what was wanted of it. Kept as long as it is judged."""

from collections.abc import Callable, Mapping
from typing import cast

import msgspec

from backends.dialects.anthropic_messages.server.heard import heard_in_message
from backends.dialects.openai_chat.heard import CallPiece, Heard, heard, without_logprobs
from backends.messages import ChatRequest, Delta, Event, Finish, ToolCall, Usage, Whole, Wire, WireDialect
from policies.escalate.said import Ending, Said, SaidCall, Wanted

LONGEST = 200_000
"""Characters that are remembered of an answer; a judgement needs no more."""

CHARACTERS_PER_TOKEN = 4

HEARD: Mapping[WireDialect, Callable[[bytes], Heard]] = {"openai_chat": heard, "anthropic": heard_in_message}


class Listener:
    """One answer. Of several choices it hears the first."""

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Another answer begins."""
        self._texts: list[str] = []
        self._characters = 0
        self._logprobs: list[float] = []
        self._calls: dict[int, list[CallPiece]] = {}
        self._declined = False
        self._counted: int | None = None
        self.tokens = 0
        self.ending: Ending = ""

    def hear(self, event: Event) -> None:
        if isinstance(event, Delta):
            logprobs = tuple([token.logprob for token in event.logprobs])
            self._add(event.text, logprobs, len(logprobs) or bool(event.text))
        elif isinstance(event, ToolCall):
            self._calls.setdefault(event.place, []).append(CallPiece(event.place, event.name, event.arguments))
        elif isinstance(event, Wire):
            self._read(HEARD[event.dialect](event.data), int(event.speaks))
        elif isinstance(event, Whole):
            self._read(HEARD[event.dialect](event.body), 0)
        elif isinstance(event, Finish):
            self.ending = event.reason
        elif isinstance(event, Usage):
            self._counted = event.completion_tokens

    def said(self) -> Said:
        calls = [
            SaidCall("".join(p.name for p in pieces), "".join(p.arguments for p in pieces))
            for _, pieces in sorted(self._calls.items())
        ]
        return Said(
            text="".join(self._texts),
            logprobs=tuple(self._logprobs),
            tokens=self._counted or self.tokens or self._characters // CHARACTERS_PER_TOKEN,
            calls=tuple(calls),
            declined=self._declined,
            ending=self.ending,
        )

    def _read(self, words: Heard, speaks: int) -> None:
        self._add(words.text, words.logprobs, len(words.logprobs) or speaks)
        for piece in words.calls:
            self._calls.setdefault(piece.index, []).append(piece)
        self._declined = self._declined or words.declined
        if words.finish:
            self.ending = cast(Ending, words.finish)

    def _add(self, text: str, logprobs: tuple[float, ...], tokens: int) -> None:
        self.tokens += tokens
        if self._characters < LONGEST:
            self._texts.append(text)
            self._logprobs += logprobs
        self._characters += len(text)


def wanted_of(request: ChatRequest) -> Wanted:
    """The form that the request asks of its answer."""
    form = request.response_format or {}
    schema = (form.get("json_schema") or {}).get("schema") if form.get("type") == "json_schema" else None
    functions = [function for tool in request.tools if isinstance(function := tool.get("function"), dict)]
    asked = [message.text for message in request.messages if message.role == "user" and message.text]
    return Wanted(
        question=asked[-1] if asked else "",
        json=form.get("type") in ("json_object", "json_schema"),
        schema=schema if isinstance(schema, dict) else None,
        tools={name: f.get("parameters") or {} for f in functions if isinstance(name := f.get("name"), str) and name},
    )


def unmarked(event: Event) -> Event | None:
    """The event as it would be had nobody asked for probabilities; None when nothing is left of it."""
    if isinstance(event, Delta):
        return Delta(event.text, event.index) if event.text else None
    if isinstance(event, Wire | Whole) and event.dialect != "openai_chat":
        return event
    if isinstance(event, Wire):
        return msgspec.structs.replace(event, data=without_logprobs(event.data))
    if isinstance(event, Whole):
        return Whole(without_logprobs(event.body))
    return event
