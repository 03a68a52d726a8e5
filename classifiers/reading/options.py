"""Does a text offer answers to choose from?"""

import re

OPTION = re.compile(r"^[^\S\n]*(?:\(?[A-J][.)]\s|answer:)", re.IGNORECASE | re.MULTILINE)
"""One of several. It does not look beyond its line, or empty lines would each be read to their end."""


def offers(text: str) -> bool:
    """
    >>> offers("Which is a planet?\\nA. Mars\\nB. Io"), offers("A. Which is a planet?")
    (True, False)
    """
    return len(OPTION.findall(text)) > 1
