"""Does an answer go in circles? The share of its three-word stretches that it has said before."""

READS = 16_384
"""Characters looked at, of the end: that is where loops are."""

FEWEST_WORDS = 12
"""Fewer words repeat themselves by chance."""


def repeated(text: str) -> float:
    """In [0, 1]. Code and lists repeat a little, a loop almost everything.

    >>> repeated("the cat sat on the mat " * 6) > 0.7, repeated("a b c d e f g h i j k l m n")
    (True, 0.0)
    """
    words = text[-READS:].split()
    if len(words) < FEWEST_WORDS:
        return 0.0
    stretches = list(zip(words, words[1:], words[2:], strict=False))
    return 1 - len(set(stretches)) / len(stretches)
