"""Chunks of a stream that differ from the one before in their text alone, and so need not be read.

Most are: the same object around other words. What is around the words was read, and put right, once.
"""

import re

import msgspec

PLAIN = re.compile(rb'(?:[^"\\\x00-\x1f]++|\\["\\/bfnrt]|\\u(?![dD])[0-9a-fA-F]{4})*+')
"""The inside of a string of JSON. What is escaped in two halves is left to who can read it."""

MARK = "\ue000text\ue000"
"""Stands for the text: of Unicode's private use, so that no chunk says it by chance."""

_MARK = MARK.encode()
_QUOTED_MARK = b'"' + _MARK + b'"'


class Stencil(msgspec.Struct, frozen=True):
    """What stands before and after the text in the upstream's chunks, and in ours."""

    before: bytes
    after: bytes
    shown_before: bytes
    shown_after: bytes

    def shown(self, data: bytes) -> bytes | None:
        """The chunk as the client shall see it; None for one that is not of this form, or says nothing.

        >>> Stencil(b'{"a":"', b'"}', b'{"b":"', b'"}').shown(b'{"a":"hi"}')
        b'{"b":"hi"}'
        """
        if not (data.startswith(self.before) and data.endswith(self.after)):
            return None
        text = data[len(self.before) : len(data) - len(self.after)]
        if not text or PLAIN.fullmatch(text) is None or not (text.isascii() or is_utf8(text)):
            return None
        return self.shown_before + text + self.shown_after


def marked(data: bytes, text: bytes) -> bytes | None:
    """The chunk with MARK in the place of `text`, a string of JSON with its quotes; None where it is not plain, or stands in
    it twice."""
    if len(text) < 3 or PLAIN.fullmatch(text[1:-1]) is None or data.count(text) != 1 or _MARK in data:
        return None
    return data.replace(text, _QUOTED_MARK)


def stencil(came: bytes, shown: bytes) -> Stencil:
    """Of a chunk in which MARK stands for the text, and the same as the client shall see it."""
    before, _, after = came.partition(_MARK)
    shown_before, _, shown_after = shown.partition(_MARK)
    return Stencil(before, after, shown_before, shown_after)


def is_utf8(text: bytes) -> bool:
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
