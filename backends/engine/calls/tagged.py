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
        self._quoted = 0  # characters of a call, up to the last closing tag that is a part of a string
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
        if self._is_inside and CLOSE in self._held and _call(self._held) is None:
            return [self._close(self._held.index(CLOSE)), *self.push(""), *self.finish()]
        held, self._held = self._held, ""
        if self._is_inside:
            return [_call(held) or self._gap + OPEN + held]
        return [held] if held.strip() or (held and not self._after_call) else []

    def _next(self) -> str | Call | None:
        """The next piece, "" where only white space was passed over, None when more must come first."""
        return self._inside() if self._is_inside else self._outside()

    def _inside(self) -> str | Call | None:
        """A closing tag inside a string of the call does not close; what turns out to be no call ends at the first one."""
        while (end := self._held.find(CLOSE, self._quoted)) >= 0:
            body = self._held[:end]
            if _call(body) is not None:
                return self._close(end)
            if not _ends_in_string(body):
                return self._close(self._held.index(CLOSE))
            self._quoted = end + len(CLOSE)
        return None

    def _close(self, end: int) -> str | Call:
        body, self._held = self._held[:end], self._held[end + len(CLOSE) :]
        self._is_inside, self._quoted = False, 0
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


def _ends_in_string(body: str) -> bool:
    """Whether an object breaks off inside a string."""
    return body.lstrip().startswith("{") and body.replace("\\\\", "").replace('\\"', "").count('"') % 2 == 1


def _any(name: str) -> bool:
    return bool(name)
