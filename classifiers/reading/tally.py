"""Does a part of a text speak of the answer? What counts for that is counted token by token, so that each longer part of a
sentence costs one token more."""

from classifiers.reading.tokens import Token
from classifiers.reading.words import ADDRESS

YOU = ("you", "your", "please")
_OF_THE_ANSWER = 0.6  # this part of the words that mean something, and a sentence speaks of the answer
_BETWEEN_US = 0.4  # the same of a sentence with "I" or "you" in it


class Tally:
    """Of tokens on end: how many there are, speak of the answer, mean something else, are between us, are figures or marks."""

    __slots__ = ("_about", "_address", "_figures", "_has_other", "_many", "_other", "_you")

    def __init__(self) -> None:
        self._many = self._about = self._other = self._address = self._figures = 0
        self._has_other = self._you = False

    def add(self, token: Token) -> None:
        kind, word = token.kind, token.word
        self._many += 1
        if kind == "appeal":
            self._about += 1
        elif kind == "word":
            self._other += 1
        elif kind == "other":
            self._has_other = True
            self._figures += bool(word)
        if word in ADDRESS:
            self._address += 1
        if word in YOU:
            self._you = True

    def is_appeal(self, first: Token, last: Token, *, bounded: bool) -> bool:
        """Of the part from its first token to its last. `bounded`: it is known that something begins there."""
        about, other, asks = self._about, self._other, "?" in last.text
        if asks and not (bounded and self._you):
            return False
        if self._many == 1:
            return about == 1 and (first.ends or first.opens)
        if self._figures > 1:
            return False  # a formula or figures: that is a question of its own
        if not bounded:
            return about > 1 and not other and self._many > 2
        address = 0 if asks or self._has_other else self._address
        if not about or (other and about + address == 1):
            return False
        return about + address >= (_BETWEEN_US if address else _OF_THE_ANSWER) * (about + address + other)
