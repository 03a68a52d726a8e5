"""How a question is built: its stem and options, the numbers in it, its sentences, its punctuation."""

import re
from math import log1p, sqrt
from statistics import fmean, pstdev

NAMES: tuple[str, ...] = (
    "log_stem_chars", "log_options", "log_option_mean", "log_option_longest", "log_option_spread", "option_numbers",
    "log_stem_numbers", "log_stem_distinct_numbers", "log_stem_largest", "log_stem_smallest", "log_stem_fractions",
    "log_decimals", "log_ratios", "log_percents", "log_years", "log_money", "log_long_numbers", "log_latex",
    "log_quotes", "log_apostrophes", "log_brackets", "log_commas", "log_question_marks", "log_colons",
    "log_semicolons", "log_hyphens", "has_blank", "has_statements", "has_following", "has_how_many", "has_how_much",
    "has_if", "opens_with_which", "has_not", "log_longest_sentence", "log_last_sentence", "log_stem_sentences",
    "middling_words", "little_words", "variety", "log_paragraphs", "log_operators", "has_code",
)  # fmt: skip
"""Names of what `of` gives, in its order."""

_OPTION = re.compile(r"^ ?\(?[a-j][.)] (.*)$", re.MULTILINE)
_NUMBER = re.compile(r"\d[\d,.]*")
_STARTS_WITH_NUMBER = re.compile(r"[ $\-−(]*\d")
_SENTENCE_END = re.compile(r"[.!?]\s")
_PATTERNS = tuple(
    map(
        re.compile, (r"\d+\.\d+", r"\d+ ?/ ?\d+", r"\d ?%", r"\b(?:1[5-9]|20)\d\d\b", r"\$ ?\d", r"\d{4,}", r"\\[a-z]+")
    )
)
_MARKS = ('"“', "'", "(", ",", "?", ":", ";", "-")
_MOST = 1e9


def of(seen: str, words: list[str]) -> tuple[float, ...]:
    """One number per name; `seen` is the text in lower case, `words` its words.

    >>> dict(zip(NAMES, of("how many?", ["how", "many"])))["has_how_many"]
    1.0
    """
    options = _OPTION.findall(seen)
    first = _OPTION.search(seen) if options else None
    stem = seen[: first.start()] if first else seen
    return (
        log1p(len(stem)), *_options(options), *_numbers(stem),
        *(log1p(len(pattern.findall(seen))) for pattern in _PATTERNS),
        *(log1p(sum(map(seen.count, marks))) for marks in _MARKS), *_phrases(seen, words), *_sentences(stem),
        *_words(words), log1p(seen.count("\n\n")), log1p(sum(map(seen.count, "=+*^"))),
        float("```" in seen or "def " in seen or "assert" in seen),
    )  # fmt: skip


def _options(options: list[str]) -> tuple[float, ...]:
    if not options:
        return (0.0,) * 5
    sizes = list(map(len, options))
    numeric = sum(_STARTS_WITH_NUMBER.match(option) is not None for option in options)
    spread = log1p(pstdev(sizes))
    return log1p(len(options)), log1p(fmean(sizes)), log1p(max(sizes)), spread, numeric / len(options)


def _numbers(stem: str) -> tuple[float, ...]:
    values = [value for number in _NUMBER.findall(stem) if (value := _value(number)) is not None]
    bounds = max(values, default=0.0), min(values, default=0.0)
    fractions = sum(0 < value < 1 for value in values)
    return log1p(len(values)), log1p(len(set(values))), *(log1p(min(_MOST, edge)) for edge in bounds), log1p(fractions)


def _value(number: str) -> float | None:
    try:
        return float(number.replace(",", "").rstrip("."))
    except ValueError:  # 1.2.3 is a version, not a number
        return None


def _phrases(seen: str, words: list[str]) -> tuple[float, ...]:
    found = (
        "__" in seen, "statement 1" in seen, "following" in seen[:400], "how many" in seen, "how much" in seen,
        "if " in seen, "which" in words[:3], "not" in words or "except" in words,
    )  # fmt: skip
    return tuple(map(float, found))


def _sentences(stem: str) -> tuple[float, ...]:
    sizes = [len(sentence.split()) for sentence in _SENTENCE_END.split(stem)]
    return log1p(max(sizes)), log1p(sizes[-1]), log1p(len(sizes))


def _words(words: list[str]) -> tuple[float, ...]:
    size = max(1, len(words))
    middling, little = sum(len(word) > 6 for word in words), sum(len(word) <= 3 for word in words)
    return middling / size, little / size, len(set(words)) / sqrt(size)
