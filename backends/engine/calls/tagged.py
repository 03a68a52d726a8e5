"""Calls between tags: `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`, among text."""

from backends.engine.calls.reader import Call, call_of, json_of
from backends.engine.stops import overlap

OPEN, CLOSE = "<tool_call>", "</tool_call>"


class TaggedCalls:
    """Text passes on at once, but for an end that may be the start of a tag; a call comes when it is whole.

    White space beside calls is theirs. Any function may be named: between these tags nothing else is meant.
    """

    def __init__(self) -> None:
        self._held = ""
        self._gap = ""  # white space before the tag that was opened
        self._is_inside = False
        self._after_call = False

    def push(self, text: str) -> list[str | Call]:
        self._held += text
        found: list[str | Call] = []
        while (piece := self._next()) is not None:
            if piece:
                found.append(piece)
        return found

    def finish(self) -> list[str | Call]:
        """A call whose closing tag the model left out is one if it is whole."""
        held, self._held = self._held, ""
        if self._is_inside:
            return [_call(held) or self._gap + OPEN + held]
        return [held] if held.strip() or (held and not self._after_call) else []

    def _next(self) -> str | Call | None:
        """The next piece, "" where only white space was passed over, None when more must come first."""
        return self._inside() if self._is_inside else self._outside()

    def _inside(self) -> str | Call | None:
        body, closes, rest = self._held.partition(CLOSE)
        if not closes:
            return None
        self._held, self._is_inside = rest, False
        call = _call(body)
        self._after_call = call is not None
        return call or self._gap + OPEN + body + CLOSE

    def _outside(self) -> str | None:
        text, opens, rest = self._held.partition(OPEN)
        if opens:
            sure = len(text.rstrip())
            self._held, self._is_inside, self._gap = rest, True, text[sure:]
            return self._beside(text[:sure])
        sure = len(text[: len(text) - overlap(text, OPEN)].rstrip())
        if not sure:
            return None
        self._held = text[sure:]
        return self._beside(text[:sure])

    def _beside(self, text: str) -> str:
        text = text.lstrip() if self._after_call else text
        self._after_call = self._after_call and not text
        return text


def _call(body: str) -> Call | None:
    return call_of(json_of(body), "arguments", known=_any)


def _any(name: str) -> bool:
    return bool(name)
