"""What each token id adds to a text, as bytes."""

import re
from collections.abc import Mapping, Sequence

_BYTE_PIECE = re.compile(r"<0x([0-9A-F]{2})>\Z")


def byte_alphabet() -> dict[str, int]:
    """The 256 characters that byte-level vocabularies write bytes as (Radford et al., GPT-2): printable ones stay."""
    printable = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1), *range(ord("®"), ord("ÿ") + 1)]
    rest = [byte for byte in range(256) if byte not in printable]
    return {chr(byte): byte for byte in printable} | {chr(256 + i): byte for i, byte in enumerate(rest)}


def byte_level_piece(token: str, alphabet: Mapping[str, int]) -> bytes:
    """A byte-level token's bytes; a token with a character outside the alphabet stands for its own text."""
    try:
        return bytes([alphabet[character] for character in token])
    except KeyError:
        return token.encode()


def sentence_piece(token: str) -> bytes:
    """A sentencepiece token's bytes: `▁` is a space, `<0xE5>` a byte."""
    if match := _BYTE_PIECE.match(token):
        return bytes([int(match[1], 16)])
    return token.replace("▁", " ").encode()


def pieces_of(
    vocabulary: Mapping[str, int], added: Mapping[int, tuple[str, bool]], *, byte_level: bool, size: int
) -> Sequence[bytes]:
    """At least `size` pieces by id. `added`: text, and whether it is a control token.

    Control tokens, and ids without a token, add nothing.
    """
    alphabet = byte_alphabet()
    pieces = [b""] * max(size, 1 + max(vocabulary.values(), default=0), 1 + max(added, default=0))
    for token, index in vocabulary.items():
        pieces[index] = byte_level_piece(token, alphabet) if byte_level else sentence_piece(token)
    for index, (text, control) in added.items():
        pieces[index] = b"" if control else text.encode()
    return tuple(pieces)
