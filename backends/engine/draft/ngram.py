"""Prompt lookup: the text that followed the same words before will follow them again (Saxena, "Prompt Lookup Decoding").

The longest earlier match of the last 1 to 8 tokens is continued. How far is tied to how long the match is (2n - 1
tokens for n): on free chat fixed drafts of 7 gave 1.01 times plain speed, tied ones 1.24, on edits both the same 2.9.
"""

from collections.abc import Sequence as Seq

from backends.engine.draft.drafter import NOTHING, Outlook, Wanted
from backends.engine.sampler import Sampler
from backends.engine.sequence import Sequence

LONGEST = 8
LATEST = 64
"""Earlier places of the last two tokens that are compared; the most recent ones, so a lookup takes the same time in a long
text. Where a token stood alone, the latest place is as good as any."""

CHANCES = (0.2, 0.5, 0.6, 0.75, 0.8, 0.8, 0.8, 0.95)
"""By length of the match. What the demo weights gave over edits, code, a summary, extraction, questions and chats."""


class NgramDrafter:
    """Grade n - 1 stands for a match of n tokens."""

    first_chances: tuple[float, ...] = CHANCES

    def __init__(self) -> None:
        self._places: dict[int, _Places] = {}

    def begin(self, job_id: int, sampler: Sampler) -> None:
        """Nothing to do: text is looked up whatever draws it."""

    def outlook(self, sequence: Sequence, at_most: int) -> Outlook:
        places = self._places.get(sequence.job_id)
        if places is None:
            places = self._places[sequence.job_id] = _Places()
        matched, after = places.longest_match(sequence.tokens)
        if not matched:
            return NOTHING
        return Outlook(min(at_most, 2 * matched - 1), matched - 1, after)

    def guess(self, wanted: Seq[Wanted]) -> list[list[int]]:
        return [_continue(sequence.tokens, outlook.place, length) for sequence, outlook, length in wanted]

    def seconds(self, rows: int) -> float:
        return 0.0

    def forget(self, job_id: int) -> None:
        self._places.pop(job_id, None)


class _Places:
    """Where each token, and each pair of tokens, stands; the last position excepted. Pairs are chained, latest first."""

    def __init__(self) -> None:
        self._latest: dict[int, int] = {}  # by token
        self._pairs: dict[tuple[int, int], int] = {}
        self._before: list[int] = []  # by position: the place before it where the same pair ends, or -1
        self._known = 0
        self._length = self._after = 0  # of the match when `_known` tokens were known

    def longest_match(self, tokens: Seq[int]) -> tuple[int, int]:
        """Length of the longest match of the end of `tokens`, the latest of equals, and the position behind it.

        Where the newest tokens go on as the match does, it is the longest and the latest again, and nothing is sought.
        """
        known, self._known = self._known, len(tokens)
        self._read(tokens)
        for token in tokens[known:]:
            if not self._goes_on(tokens, token):
                self._length, self._after = self._sought(tokens)
                break
        return self._length, self._after

    def _read(self, tokens: Seq[int]) -> None:
        latest, pairs, before = self._latest, self._pairs, self._before
        for position in range(len(before), len(tokens) - 1):
            pair = (tokens[position - 1] if position else -1, tokens[position])
            before.append(pairs.get(pair, -1))
            pairs[pair] = latest[pair[1]] = position

    def _goes_on(self, tokens: Seq[int], token: int) -> bool:
        """A match of LONGEST may have been longer, and a later one may have come up to it."""
        if not 0 < self._length < LONGEST or tokens[self._after] != token:
            return False
        self._length, self._after = self._length + 1, self._after + 1
        return True

    def _sought(self, tokens: Seq[int]) -> tuple[int, int]:
        best, after = 0, 0
        place = self._pairs.get((tokens[-2], tokens[-1]), -1) if len(tokens) > 1 else -1
        left = LATEST
        while place >= 0 and left and best < LONGEST:
            length = _match(tokens, place)
            if length > best:
                best, after = length, place + 1
            place, left = self._before[place], left - 1
        if best:
            return best, after
        place = self._latest.get(tokens[-1], -1)
        return int(place >= 0), place + 1


def _match(tokens: Seq[int], position: int) -> int:
    """How many tokens up to `position` equal the last ones, at most LONGEST. The last two are known to match."""
    length, end = 2, len(tokens) - 1
    while length < min(LONGEST, position + 1) and tokens[position - length] == tokens[end - length]:
        length += 1
    return length


def _continue(tokens: Seq[int], after: int, count: int) -> list[int]:
    """The tokens from `after` on; past the end the guess continues itself, so a loop is guessed to go on."""
    guess: list[int] = []
    for position in range(after, after + count):
        guess.append(tokens[position] if position < len(tokens) else guess[position - len(tokens)])
    return guess
