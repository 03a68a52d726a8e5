"""What heads read of a turn, as a log may keep it: numbers, no text."""

import msgspec


class Numbers(msgspec.Struct, frozen=True):
    """`vector` (the embedding) and `lexical` (the features) as little-endian float16. `made_by` names the encoder and the
    features: numbers of another make mean something else.

    An embedding tells roughly what was asked, so it is kept only where somebody wants that.
    """

    made_by: str
    vector: bytes
    lexical: bytes
