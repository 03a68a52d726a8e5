"""Secrets as a type that cannot be printed by accident."""


class Secret:
    """A value whose `repr` and `str` are `***`; `reveal()` is the one way to its text.

    The ends of the text are stripped: a key read from a file often carries a line end, and a header value with one
    makes HTTP libraries raise with the whole value in the message.

    >>> f"{Secret(' abc ')}", Secret(" abc ").reveal()
    ('***', 'abc')
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text.strip()

    def reveal(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "***"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)
