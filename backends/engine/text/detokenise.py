"""Token ids → text, piece by piece, with half characters held back."""

import codecs
from collections.abc import Sequence


class Detokeniser:
    """Feed it every id of one answer in order. The pieces joined equal the decoding of the whole, wherever it is cut.

    Bytes that can never become a character turn into U+FFFD as Unicode recommends (one for each maximal part, Unicode
    16 §3.9); bytes that may still become one are held back until they do, or until `finish`.
    """

    def __init__(self, pieces: Sequence[bytes], *, strips_first_space: bool) -> None:
        self._pieces = pieces
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        self._strip = strips_first_space

    def keep_first_space(self) -> None:
        """What comes goes on with a text, so its first space is between two words."""
        self._strip = False

    def push(self, token: int) -> str:
        """The text that this token completes; empty while a character is unfinished, and for control tokens."""
        return self._stripped(self._decode(self._pieces[token]))

    def finish(self) -> str:
        """What is still held back, as U+FFFD."""
        return self._decode(b"", True)

    def _stripped(self, text: str) -> str:
        if not self._strip or not text:
            return text
        self._strip = False
        return text.removeprefix(" ")
