"""A text while its pieces come, and whether it is an object of JSON by now, as the arguments of a call are at their end. Every
character is looked at once, however many pieces there are and however often somebody asks."""

import re
from typing import Any

import msgspec

_OUTSIDE = re.compile(r'["{}\[\]]')
_INSIDE = re.compile(r'["\\]')
_DEEPER = {"{": 1, "[": 1, "}": -1, "]": -1}
_BLANKS = " \t\n\r"


class Pieces:
    """`all` of them; whoever has one more adds it there."""

    __slots__ = ("_depth", "_in_string", "_is_escaped", "_looked", "_may_be", "_whole", "all")

    def __init__(self) -> None:
        self.all: list[str] = []
        self._looked = self._depth = 0
        self._in_string = self._is_escaped = self._whole = False
        self._may_be = True

    @property
    def text(self) -> str:
        return "".join(self.all)

    @property
    def is_blank(self) -> bool:
        return not any(map(str.strip, self.all))

    @property
    def is_object(self) -> bool:
        """
        >>> pieces = Pieces()
        >>> pieces.all.append('{"x": "}')
        >>> pieces.is_object
        False
        >>> pieces.all.append('"}')
        >>> pieces.is_object
        True
        """
        while self._looked < len(self.all) and self._may_be:
            self._looked += 1
            self._look(self.all[self._looked - 1])
        return self._whole

    def _look(self, piece: str) -> None:
        at = 0 if self._depth else self._begun(piece)
        while self._depth and at < len(piece):
            at = self._next(piece, at)
            if not self._depth:
                self._close(piece[at:])

    def _begun(self, piece: str) -> int:
        """Behind the first brace. Before it, and behind the last one, there is room for blanks alone."""
        rest = piece.lstrip(_BLANKS)
        if rest and (self._whole or rest[0] != "{"):
            self._may_be = self._whole = False
        elif rest:
            self._depth = 1
        return len(piece) - len(rest) + 1

    def _next(self, piece: str, at: int) -> int:
        """Behind the next character that means something."""
        if self._is_escaped:
            self._is_escaped = False
            return at + 1
        found = (_INSIDE if self._in_string else _OUTSIDE).search(piece, at)
        if found is None:
            return len(piece)
        sign = found.group()
        if sign == '"':
            self._in_string = not self._in_string
        elif sign == "\\":
            self._is_escaped = True
        else:
            self._depth += _DEEPER[sign]
        return found.end()

    def _close(self, rest: str) -> None:
        """As many have closed as have opened: it is an object now, or it will never be one."""
        text = "".join(self.all[: self._looked])
        self._may_be = self._whole = not rest.strip(_BLANKS) and object_of(text) is not None


def object_of(text: str) -> dict[str, Any] | None:
    """The object that the text is; None while it is none.

    >>> object_of('{"x": 1}'), object_of('{"x"'), object_of("[1]")
    ({'x': 1}, None, None)
    """
    if not text.rstrip().endswith("}"):
        return None
    try:
        found = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
