"""Text made fit to leave the process: no key, no control character, no more than a line's length."""

import re
from collections.abc import Iterable
from functools import lru_cache

from gateway.secrets import Secret

LONGEST = 512
"""Characters of one value; the rest is cut."""

REMEMBERED = 1_024
"""Texts whose cleaned form is kept: names, addresses and most reasons come again and again."""

SHORTEST_KEY = 7
"""Characters below which no text has the shape of a key with its marker."""

_KEY_SHAPES = re.compile(
    r"(?i)\b(?:bearer|basic)\s+[a-z0-9._~+/=-]{8,}"
    r"|\b(?:sk|pk|rk|ghp|gho|hf|xox[abp]|eyj)[-_a-z0-9.]{16,}"
    r"|\bAKIA[0-9A-Z]{16}\b"
    r"|(?<=://)[^/\s:@]*:[^/\s@]+(?=@)"
)
"""Bearer and basic credentials, vendors' key prefixes, JSON web tokens, passwords inside URLs."""

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")


class Redactor:
    """Knows the process's own secrets by value and others by shape. Its `repr` tells nothing."""

    __slots__ = ("_known", "_remembering")

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        texts = sorted({secret.reveal() for secret in secrets} - {""}, key=len, reverse=True)
        self._known = re.compile("|".join(map(re.escape, texts))) if texts else None
        self._remembering = lru_cache(REMEMBERED)(self._cleaned)

    def clean(self, text: str) -> str:
        r"""`text` on one line, with `***` where a secret stood.

        >>> Redactor([Secret("hunter2")]).clean("key hunter2 or sk-abcdefghijklmnop1234\nforged line")
        'key *** or ***\\nforged line'
        """
        return self._remembering(text) if len(text) <= LONGEST else self._cleaned(text)

    def _cleaned(self, text: str) -> str:
        if self._known is not None:
            text = self._known.sub("***", text)
        if len(text) >= SHORTEST_KEY:
            text = _KEY_SHAPES.sub("***", text)
        return text[:LONGEST] if text.isprintable() else _UNPRINTABLE.sub(_escaped, text)[:LONGEST]

    def __repr__(self) -> str:
        return "Redactor(***)"


def _escaped(match: re.Match[str]) -> str:
    return match.group().encode("unicode_escape").decode("ascii")
