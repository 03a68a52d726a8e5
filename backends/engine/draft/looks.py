"""When it is worth looking for drafts at all: while that pays, and else as often as a small share of the time allows.

To ask what could be guessed, and to weigh it, takes tens of microseconds a sequence: more than a step of a small model can
spare for nothing. So looks are paid for, by the clock and not by an estimate, out of what accepted tokens have saved. Whoever
owes decodes plainly, which is the known arm of this bandit, until a small share of the time has paid.
"""

from dataclasses import dataclass

CROWD = 4
"""From so many sequences on a look takes a share of a step that shows, and what one of them gains the others do not."""
SHARE = 0.002
"""Of a crowd's time, for looks that have not paid."""
SHARE_OF_FEW = 0.01
"""The same of fewer sequences."""
CREDIT = 8
"""Looks that may be owed before a new sequence is no reason to look, and saved up by what was won."""
WORTH = 0.25
"""Of what accepted tokens saved: a sequence that ends early frees its place, but the step of the others hardly gets shorter."""
LEARN = 1 / 16
SLOWEST = 2.0
"""A look that took so many times what looks take was held up by something else."""


@dataclass(slots=True)
class Looks:
    """An account in seconds. `each_s` is what it takes to look at one sequence, `look_s` what the last look was charged;
    `waited` counts steps since then, the one that is planned included."""

    each_s: float = 0.0
    look_s: float = 0.0
    waited: int = 0
    _owed_s: float = 0.0
    _paid_s: float = 0.0
    _has_news: bool = False

    def is_due(self) -> bool:
        """Asked once a step, so this is all that a step costs that is not looked at."""
        self.waited += 1
        left_s = self._owed_s - self.waited * self._paid_s
        return left_s <= 0 or (self._has_news and left_s <= CREDIT * self.look_s)

    def greet(self) -> None:
        """What comes new may be worth drafts where the others are not."""
        self._has_news = True

    def book(self, took_s: float, many: int, step_s: float) -> None:
        """A look at so many sequences is over, whose plain step takes `step_s`."""
        each_s = took_s / many
        if self.each_s:
            each_s = self.each_s + LEARN * (min(each_s, SLOWEST * self.each_s) - self.each_s)
        self.each_s, self.look_s = each_s, each_s * many
        owed_s = self._owed_s - self.waited * self._paid_s
        self._paid_s = step_s * (SHARE if many >= CROWD else SHARE_OF_FEW)
        self._owed_s = max(owed_s, -CREDIT * self.look_s) + self.look_s
        self.waited, self._has_news = 0, False

    def pay(self, seconds: float) -> None:
        """So much was won by accepted tokens."""
        self._owed_s = max(self._owed_s - WORTH * seconds, -CREDIT * self.look_s)
