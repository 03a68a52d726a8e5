"""What the user asks: the text a difficulty estimate is made of."""

import msgspec


class Question(msgspec.Struct, frozen=True):
    """The user's turns, oldest first. System prompts, documents, tools and answers are not part of it."""

    turns: tuple[str, ...]
