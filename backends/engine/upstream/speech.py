"""One choice of an answer as events: its text with log-probabilities, and the tool calls in it."""

import secrets
from collections.abc import Sequence

from backends.engine.calls.reader import Call, CallReader
from backends.messages import Delta, Event, TokenLogprob, ToolCall

ID_CHARACTERS = 9
"""Mistral's chat templates take ids of exactly so many letters and digits; the others take any."""


class Speech:
    """`reader` finds the calls; None where all is text. With `one_call` later calls are not told."""

    def __init__(self, index: int = 0, reader: CallReader | None = None, *, one_call: bool = False) -> None:
        self._index = index
        self._reader = reader
        self._one_call = one_call
        self._logprobs: list[TokenLogprob] = []
        self.calls = 0

    def say(self, text: str, logprobs: Sequence[TokenLogprob]) -> list[Event]:
        """What the client may see by now."""
        if self._reader is None:
            return [Delta(text, self._index, tuple(logprobs))] if text or logprobs else []
        self._logprobs += logprobs
        return self._events(self._reader.push(text))

    def end(self) -> list[Event]:
        return [] if self._reader is None else self._events(self._reader.finish())

    def _events(self, pieces: Sequence[str | Call]) -> list[Event]:
        events = (self._delta(piece) if isinstance(piece, str) else self._call(piece) for piece in pieces)
        return [event for event in events if event is not None]

    def _delta(self, text: str) -> Delta:
        logprobs, self._logprobs = tuple(self._logprobs), []
        return Delta(text, self._index, logprobs)

    def _call(self, call: Call) -> ToolCall | None:
        """The tokens of a call are not the tokens of a text, so their log-probabilities are not told."""
        self._logprobs = []
        if self._one_call and self.calls:
            return None
        self.calls += 1
        return ToolCall(secrets.token_hex(ID_CHARACTERS)[:ID_CHARACTERS], call.name, call.arguments, self.calls - 1,
                        self._index)  # fmt: skip
