"""The text an encoder sees of a turn, and the digests that name it: `digest` in files, `name_of` in a process."""

import hashlib

from classifiers.reading.appeals import without_appeals

HEAD_CHARS = 512
TAIL_CHARS = 256
_ELLIPSIS = " … "


def cut(text: str) -> str:
    """`text` without appeals, runs of white space made one space; if it is long, its first 512 and last 256 characters.

    A request says what it wants at its beginning or its end, pasted material stands between. 768 characters are
    about 190 word pieces of English: inside the encoder's window, so that nothing is lost silently.

    >>> cut("  a\\n b ")
    'a b'
    >>> len(cut("x" * 10_000))
    771
    """
    return cut_of(without_appeals(text))


def cut_of(asked: str) -> str:
    """The same of a text whose appeals are gone already."""
    # A megabyte of pasted log must not cost a megabyte of work: what the cut can keep lies in these two slices.
    if len(asked) > 64 * (HEAD_CHARS + TAIL_CHARS):
        asked = asked[: 32 * HEAD_CHARS] + " " + asked[-32 * TAIL_CHARS :]
    # Half a surrogate pair can arrive in JSON; the tokenizer, written for UTF-8, refuses it.
    words = " ".join(asked.encode("utf-8", "replace").decode().split())
    if len(words) <= HEAD_CHARS + TAIL_CHARS:
        return words
    return words[:HEAD_CHARS] + _ELLIPSIS + words[-TAIL_CHARS:]


def digest(text: str) -> bytes:
    """16 bytes that name `text`: BLAKE2b of its UTF-8, lone surrogates kept."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def name_of(text: str) -> bytes:
    """32 bytes by which a process remembers `text`: SHA-256, which processors are built for (1 KB: .8 us, BLAKE2b 1.25), and so
    what a request may have reckoned already."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()
