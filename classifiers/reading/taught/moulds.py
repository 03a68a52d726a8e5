"""Texts from moulds: sentences of ours with slots, filled with words of ours and with parts of published prompts.

`{subject}` takes any line of the family of that name, and its slots are filled in turn; `{Subject}` begins with a capital.
Parts of published prompts are put in as they are. So no copy of theirs need lie beside the moulds.
"""

import random
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

Parts = Mapping[str, Sequence[str]]

_SLOT = re.compile(r"\{([A-Za-z]+)\}")
_OF_A_MOULD = 4  # times that one is drawn where a sentence without slots is once: it says more
_TRIES = 8


class Family(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Sentences, or words, that fill the same slot; `kind` says what they are examples of, or `word`."""

    kind: str
    family: str
    texts: tuple[str, ...]


class Moulds:
    """`parts` are published, by the slot that they fill. What is drawn hangs on `drawn` alone."""

    def __init__(self, path: Path, drawn: random.Random, parts: Parts) -> None:
        self._drawn, self._parts = drawn, parts
        self._of_family: dict[str, list[str]] = {}
        self._of_kind: dict[str, list[str]] = {}
        for line in path.read_bytes().splitlines():
            one = msgspec.json.decode(line, type=Family)
            self._of_family.setdefault(one.family, []).extend(one.texts)
            weighed = [text for text in one.texts for _ in range(_OF_A_MOULD if _SLOT.search(text) else 1)]
            self._of_kind.setdefault(one.kind, []).extend(weighed)

    def filled(self, mould: str) -> str:
        """Raises KeyError where a slot has no family and no parts."""
        return _SLOT.sub(lambda slot: self._word(slot[1]), mould)

    def distinct(self, kind: str, many: int) -> list[str]:
        """At most `many` texts of that kind, each once."""
        found: dict[str, None] = {}
        for _ in range(_TRIES * many):
            found[self.filled(self._drawn.choice(self._of_kind[kind]))] = None
            if len(found) == many:
                break
        return list(found)

    def _word(self, slot: str) -> str:
        name = slot.lower()
        if name in self._parts:
            word = self._drawn.choice(self._parts[name])
        else:
            word = self.filled(self._drawn.choice(self._of_family[name]))
        return word[0].upper() + word[1:] if slot != name else word
