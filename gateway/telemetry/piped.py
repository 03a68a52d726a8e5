"""Lines for a pipe into which other processes write too. POSIX, `write`: what is at most PIPE_BUF bytes is not mixed with what
others write; anything larger may be, anywhere in it. Files take pieces of any length whole."""

import io
import os
import stat
from collections.abc import Iterator
from typing import TextIO


class LinesLost(OSError):
    """So many `lines`, the last ones, could not be written."""

    def __init__(self, lines: int) -> None:
        super().__init__(f"{lines} lines of log could not be written")
        self.lines = lines


def write_lines(out: TextIO, text: str, together: int) -> None:
    """`together` bytes at most at a time, 0: all. Raises LinesLost; and ValueError where nothing of it can be written."""
    written = 0
    try:
        for piece in pieces_of(text, together) if together else (text,):
            out.write(piece)
            out.flush()
            written += piece.count("\n")
    except OSError as error:
        raise LinesLost(text.count("\n") - written) from error


def pieces_of(text: str, together: int) -> Iterator[str]:
    """Whole lines, as many as there is room for; one that is too long for any piece is a piece of its own.

    >>> list(pieces_of("a\\nb\\nlonger\\nc\\n", 4))
    ['a\\nb\\n', 'longer\\n', 'c\\n']
    """
    data, at = text.encode("utf-8", "surrogatepass"), 0
    while at < len(data):
        end = data.rfind(b"\n", at, at + together) + 1 or data.find(b"\n", at) + 1
        yield data[at:end].decode("utf-8", "surrogatepass")
        at = end


def most_together(out: TextIO) -> int:
    """PIPE_BUF where it is a pipe, else 0."""
    try:
        fd = out.fileno()
        return os.fpathconf(fd, "PC_PIPE_BUF") if stat.S_ISFIFO(os.fstat(fd).st_mode) else 0
    except (OSError, ValueError, io.UnsupportedOperation):
        return 0
