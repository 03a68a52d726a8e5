"""A problem of a policy file: where, what, what to do about it; shown as a compiler would show it."""

import re
from collections.abc import Sequence

import msgspec

WIDEST_EXCERPT = 100

SECRETS = (
    re.compile(r"(?<=\bkey)(\s*[\"']?\s*:\s*[\"']?)(?!env:|file:)[^\s\"',}\]]+"),
    re.compile(r"(://)[^/\s@\"']+(?=@)"),
    re.compile(
        r"()\b(?:sk|pk|rk|ghp|gho|xoxb|xoxp|hf|gsk|nvapi)[-_][A-Za-z0-9_-]{8,}|()\bAIza[\w-]{20,}|()\beyJ[\w.-]{20,}"
    ),
)
"""What looks like a credential: the value of `key`, user and password in an address, tokens with known beginnings."""


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """`line` and `column` count from 1. `excerpt` is the line, with anything that looks like a secret masked."""

    file: str
    line: int
    column: int
    message: str
    excerpt: str = ""

    def render(self) -> str:
        """`file:line:column message`, then the line and a caret under the column."""
        head = f"{self.file}:{self.line}:{self.column} {self.message}"
        if not self.excerpt.strip():
            return head
        number, line, caret = str(self.line), *window(self.excerpt, self.column - 1)
        return f"{head}\n  {number} | {line}\n  {' ' * len(number)} | {' ' * caret}^"


def window(line: str, column: int) -> tuple[str, int]:
    """At most `WIDEST_EXCERPT` characters of `line` around `column`, and where `column` is in them."""
    start = max(0, min(column - WIDEST_EXCERPT // 2, len(line) - WIDEST_EXCERPT))
    return line[start : start + WIDEST_EXCERPT].rstrip(), column - start


def masked(text: str) -> str:
    """`text` without what looks like a secret.

    >>> masked("key: hunter2, at: https://me:pw@host/v1")
    'key: ***, at: https://***@host/v1'
    """
    for pattern in SECRETS:
        text = pattern.sub(lambda match: f"{next((g for g in match.groups() if g), '')}***", text)
    return text


def holds_secret(text: str) -> bool:
    """Does a single value look like a credential?"""
    return any(pattern.search(text) for pattern in SECRETS[1:])


def printable(text: str) -> str:
    """One line of characters that a terminal may be given; anything else is a space.

    >>> printable("a\\tb")
    'a b'
    """
    return "".join(char if char.isprintable() else " " for char in text)


LINE_END = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
"""Where YAML 1.1 and 1.2 readers count a line."""


class Source(msgspec.Struct, frozen=True):
    """The file's name and lines, for saying where something is."""

    name: str
    lines: Sequence[str]

    @classmethod
    def of(cls, name: str, text: str) -> "Source":
        return cls(name, LINE_END.split(text))

    def problem(self, at: tuple[int, int], message: str) -> Problem:
        """A problem at (line, column), both from 1."""
        line, column = at
        raw = self.lines[line - 1] if line <= len(self.lines) else ""
        shown = printable(raw)
        hidden = masked(shown)
        # A mask before the column would move the caret: point at the start of the line's content instead.
        if hidden != shown and hidden[: column - 1] != shown[: column - 1]:
            column = len(hidden) - len(hidden.lstrip()) + 1
        return Problem(file=self.name, line=line, column=column, message=masked(printable(message)), excerpt=hidden)
