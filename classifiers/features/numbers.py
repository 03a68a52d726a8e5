"""What heads read of a turn, as a log may keep it: numbers, no text."""

import msgspec


class Numbers(msgspec.Struct, frozen=True):
    """`vector` (the embedding) and `lexical` (the features) as little-endian float16. `made_by` names the encoder and the
    features: numbers of another make mean something else. `static` is the static vector, alike, and `table` names the table
    that it is of; both empty in logs of before they were kept.

    An embedding tells roughly what was asked, so it is kept only where somebody wants that.
    """

    made_by: str
    vector: bytes
    lexical: bytes
    static: bytes = b""
    table: str = ""
