"""In which language a conversation is, as far as its letters and small words tell. People read it; nothing is decided by it."""

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping

from classifiers.reading.scripts import in_latin, not_latin_share
from classifiers.unfamiliar.languages import held_together_in

_SEEN_CHARS = 512
_MOST = 0.5

SCRIPTS: Mapping[str, str] = {
    "ARABIC": "Arabic",
    "ARMENIAN": "Armenian",
    "BENGALI": "Bengali",
    "CJK": "Chinese",
    "CYRILLIC": "Cyrillic",
    "DEVANAGARI": "Devanagari",
    "GEORGIAN": "Georgian",
    "GREEK": "Greek",
    "GUJARATI": "Gujarati",
    "HANGUL": "Korean",
    "HEBREW": "Hebrew",
    "HIRAGANA": "Japanese",
    "KATAKANA": "Japanese",
    "TAMIL": "Tamil",
    "TELUGU": "Telugu",
    "THAI": "Thai",
}
"""By how Unicode's name of a letter begins: the language that it alone writes, or else the script."""


def language_of(turns: Iterable[str]) -> str:
    """Of turns, oldest first, the newest that tells one: "German", "English", "Japanese", or a script that several languages
    share, as "Cyrillic"; "" where none does.

    >>> language_of(["Wie heißt die Hauptstadt von Peru und wo liegt sie?", "ok"]), language_of(["ok"])
    ('German', '')
    """
    return next((name for turn in reversed([*turns]) if (name := spoken_in(turn))), "")


def spoken_in(turn: str) -> str:
    """The same of one turn, by most of the letters of what it asks.

    >>> spoken_in("Какая столица?"), spoken_in("東京はどこですか"), spoken_in("What is 2+2?"), spoken_in("2+2")
    ('Cyrillic', 'Japanese', 'English', '')
    """
    asked = in_latin(turn)
    return _written_in(asked) if not_latin_share(asked) > _MOST else held_together_in(asked)


def _written_in(turn: str) -> str:
    """Whoever writes kana writes Japanese, whatever share of it is Chinese characters."""
    names = (unicodedata.name(char, "") for char in turn[:_SEEN_CHARS] if char.isalpha())
    found = Counter(told for name in names if (told := SCRIPTS.get(name.partition(" ")[0])))
    if "Japanese" in found:
        return "Japanese"
    return found.most_common(1)[0][0] if found else ""
