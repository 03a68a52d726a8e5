"""What the user asks: the text a difficulty estimate is made of."""

import msgspec


class Question(msgspec.Struct, frozen=True):
    """The user's turns, oldest first. System prompts, documents, tools and answers are not part of it.

    `names` are digests by which those turns are known that somebody has digested before, b"" for the others; or it is empty.
    A name is the SHA-256 of the turn's UTF-8.
    """

    turns: tuple[str, ...]
    names: tuple[bytes, ...] = ()
