"""Calls that are the whole answer, as JSON without a tag of text: Llama 3 writes objects, Mistral a list of them.

The control token that announces them is no text. So an answer that begins as such JSON is held back until it ends, and is
calls only if all of it is: calls of functions that the request offers.
"""

import json
from collections.abc import Iterator, Set

from backends.engine.calls.reader import Call, call_of, json_of

_DECODER = json.JSONDecoder()
_BETWEEN = " \t\r\n;,"


class BareCalls:
    """`begins` is the character that such an answer starts with, `arguments_key` how it names the arguments."""

    def __init__(self, begins: str, arguments_key: str, functions: Set[str]) -> None:
        self._begins = begins
        self._arguments_key = arguments_key
        self._functions = functions
        self._held = ""
        self._is_text = False

    def push(self, text: str) -> list[str | Call]:
        if self._is_text:
            return [text] if text else []
        self._held += text
        start = self._held.lstrip()
        if not start or start.startswith(self._begins):
            return []
        self._is_text = True
        return self.finish()

    def finish(self) -> list[str | Call]:
        held, self._held = self._held, ""
        calls = [] if self._is_text else self._calls(held)
        return [*calls] if calls else [held] if held else []

    def _calls(self, text: str) -> list[Call]:
        """All calls of the text; none when anything in it is something else."""
        found: list[Call] = []
        for said in _values(text):
            for one in said if isinstance(said, list) else [said]:
                call = call_of(one, self._arguments_key, self._functions.__contains__)
                if call is None:
                    return []
                found.append(call)
        return found


def _values(text: str) -> Iterator[object]:
    """The JSON values that a text is made of; None for the rest of it from where it is something else."""
    at = _after_gap(text, 0)
    while at < len(text):
        try:
            _, end = _DECODER.raw_decode(text, at)
        except (ValueError, RecursionError):
            yield None
            return
        yield json_of(text[at:end])
        at = _after_gap(text, end)


def _after_gap(text: str, at: int) -> int:
    while at < len(text) and text[at] in _BETWEEN:
        at += 1
    return at
