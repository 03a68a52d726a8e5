"""Prompts that wait at one replica for their first token: how fast they are computed there, and how far the first of them is.

A server says nothing between a prompt and its first token, and computes prompts about in the order in which they came. So
what waits is less than what was sent, by the time that the oldest prompt has had.
"""

from collections import OrderedDict, deque
from statistics import median

WORTH_TOKENS = 512
"""A wait for less is mostly the way there and back."""

REMEMBERED = 32
"""Waits whose median tells the speed: one that hung, or that was computed beside others, does not move it."""


class Prefills:
    """Of one process's own prompts. Instants are in seconds, of a clock that does not go back. `oldest_tokens` are of the
    prompt that waits longest, 0 where none does."""

    __slots__ = ("_began_at", "_left", "_numbers", "_oldest", "_speeds", "_waiting", "oldest_tokens", "tokens_per_s")

    def __init__(self) -> None:
        self.tokens_per_s = 0.0
        self.oldest_tokens = 0
        self._speeds: deque[float] = deque(maxlen=REMEMBERED)
        self._waiting: OrderedDict[int, tuple[int, int, float]] = OrderedDict()
        self._numbers = self._oldest = 0
        self._left = 0
        self._began_at = 0.0

    def __len__(self) -> int:
        return len(self._waiting)

    def come(self, tokens: int, now: float, others: int = 0) -> int:
        """A prompt of which so many tokens are to be computed, behind `others` of other gateways. Its number, from 1 on, is to
        be given to `go`, once.

        >>> prefills = Prefills()
        >>> first = prefills.come(1_000, now=10.0)
        >>> prefills.go(first, now=10.5, spoke=True), prefills.tokens_per_s
        (None, 2000.0)
        >>> second = prefills.come(4_000, now=20.0)
        >>> prefills.computed(21.0), prefills.computed(30.0)
        (2000, 4000)
        """
        ahead = tokens + others
        self._numbers = number = self._numbers + 1
        if not self._waiting:
            self._began_at, self._oldest, self.oldest_tokens = now, number, tokens
        else:
            ahead += self._left - self.computed(now)
        self._waiting[number] = tokens, ahead, now
        self._left += tokens
        return number

    def go(self, number: int, now: float, *, spoke: bool) -> None:
        """`spoke`: its first token is here, so its wait tells how fast the replica is."""
        waiting = self._waiting
        tokens, ahead, came_at = waiting.pop(number)
        self._left -= tokens
        if number == self._oldest:
            self._began_at, self._oldest = now, next(iter(waiting), 0)
            self.oldest_tokens = waiting[self._oldest][0] if waiting else 0
        if spoke and ahead >= WORTH_TOKENS and now > came_at:
            self._speeds.append(ahead / (now - came_at))
            self.tokens_per_s = median(self._speeds)

    def computed(self, now: float) -> int:
        """Tokens of the oldest prompt that are taken to be computed by now: none while the speed is not known."""
        if not self.oldest_tokens or not self.tokens_per_s:
            return 0
        return min(self.oldest_tokens, round((now - self._began_at) * self.tokens_per_s))
