"""Control tokens belong to the template. The same words in a message are text, and stay text.

Rendering a chat to one string would let a user write `<|im_end|>` and forge a turn. So before rendering, every such word
inside a message is marked with a character that no message contains; control tokens are recognised in the rendered
string, and the marks are taken out of the plain text between them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

_MARKS = range(0xF0000, 0xFFFFE)
"""Private use, plane 15: no text means anything by them."""


def mark_for(texts: Iterable[str]) -> str:
    """A character that none of the texts holds."""
    taken = set().union(*map(set, texts))
    return next(chr(code) for code in _MARKS if chr(code) not in taken)


class ControlTokens:
    """The control tokens of one vocabulary, longest first where one begins like another."""

    def __init__(self, ids: Mapping[str, int]) -> None:
        self.ids = dict(ids)
        ordered = sorted(self.ids, key=len, reverse=True)
        self._word = re.compile("|".join(map(re.escape, ordered))) if ordered else re.compile(r"(?!)")
        self._first = re.compile("|".join(f"{re.escape(w[0])}(?={re.escape(w[1:])})" for w in ordered) or r"(?!)")
        starts = {word[:size] for word in ordered for size in range(1, len(word))}
        self._starts = tuple(sorted(starts, key=len, reverse=True))

    def marked(self, text: str, mark: str) -> str:
        """`text` with `mark` after the first character of each control word, and of one begun at the very end."""
        text = self._first.sub(lambda match: match[0] + mark, text)
        begun = next((start for start in self._starts if text.endswith(start)), "")
        return text[: len(text) - len(begun)] + begun[:1] + mark + begun[1:] if begun else text

    def marked_within(self, value: Any, mark: str) -> Any:
        """The same for every string inside a JSON value, keys included."""
        if isinstance(value, str):
            return self.marked(value, mark)
        if isinstance(value, Mapping):
            return {self.marked(str(key), mark): self.marked_within(inner, mark) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.marked_within(inner, mark) for inner in value]
        return value

    def split(self, rendered: str, mark: str) -> Iterator[str | int]:
        """The rendered chat as plain texts without marks, and control ids, in order."""
        at = 0
        for match in self._word.finditer(rendered):
            yield rendered[at : match.start()].replace(mark, "")
            yield self.ids[match[0]]
            at = match.end()
        yield rendered[at:].replace(mark, "")


def strings_within(value: Any) -> Iterator[str]:
    """Every string inside a JSON value, keys included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            yield str(key)
            yield from strings_within(inner)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from strings_within(inner)
