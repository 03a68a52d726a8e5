"""Which drafts a step verifies, and what becomes of them. Results never depend on it.

Every draft token has a chance to be right, learned by sequence and grade, and a price, learned from the steps. `draft.worth`
chooses as many as pay. What does not seem to pay is tried again now and then, out of a purse that bounds what it may cost.
"""

from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from typing import Protocol

from backends.engine.draft.acceptance import Acceptance
from backends.engine.draft.drafter import NOTHING, Drafter, Outlook, Wanted
from backends.engine.draft.worth import worthwhile
from backends.engine.sampler import Sampler
from backends.engine.scheduler import Chunk
from backends.engine.sequence import Sequence

TRY_SHARE = 0.003
"""Of all time, for drafts that by what is known do not pay."""
PURSE_STEPS = 32
"""At most this many steps' worth of it are saved up, so that an idle hour is not followed by a burst of tries."""
FRUITLESS = 16
"""After so many looks at which nothing was worth a draft, a crowd is looked at less and less often."""
SELDOM = 16
"""Steps from one such look to the next at most: they double with every look."""
CROWD = 4
"""From so many sequences on, looking at all of them costs a share of a step that shows."""
LAG = 0.005
"""Of its own time, how far a sequence may fall behind where it would be without drafts, by the rows of others."""
MANY = 6
"""From so many sequences on this is held: few streams share what they gain soon enough, as their turns to repeat come."""
PAID_BACK = 0.2
"""Reading what a draft model has missed may take this share of the time that the rest of the answer takes at most."""


@dataclass(slots=True)
class Lead:
    """How far a sequence is before where it would be without drafts, in seconds, and when it began on the clock of steps."""

    seconds: float
    began_s: float


class Costs(Protocol):
    """What a step costs."""

    def seconds(self, rows: int) -> float: ...


@dataclass(slots=True)
class Speculator:
    """Chooses drafts for a step and learns from what became of them. `proposed` and `accepted` count draft tokens.

    `plain_s` and `spent_s`: what the tokens of all steps would have cost without drafts, and what they did cost, both by
    the costs as they are known. Steps without drafts are in both.
    """

    drafter: Drafter
    max_draft: int
    costs: Costs
    proposed: int = 0
    accepted: int = 0
    plain_s: float = 0.0
    spent_s: float = 0.0
    acceptance: Acceptance = field(init=False)
    _grades: dict[int, int] = field(default_factory=dict)
    _leads: dict[int, Lead] = field(default_factory=dict)
    _purse_s: float = 0.0
    _step_s: float = 0.0
    _token_s: float = 0.0
    _fruitless: int = 0
    _gap: int = 1
    _rested: int = 0

    def __post_init__(self) -> None:
        self.acceptance = Acceptance(list(self.drafter.first_chances))

    def begin(self, job_id: int, sampler: Sampler) -> None:
        """What comes new may be worth drafts where the others are not, so the next look is soon."""
        self.drafter.begin(job_id, sampler)
        self._gap = min(self._gap, 2)

    @property
    def speedup(self) -> float:
        return self.plain_s / self.spent_s if self.spent_s else 1.0

    def propose(self, decoding: Seq[Sequence]) -> list[list[int]]:
        step_s = self.costs.seconds(len(decoding))
        self._step_s, self._token_s = step_s, step_s / len(decoding)
        self._purse_s = min(self._purse_s + TRY_SHARE * step_s, PURSE_STEPS * step_s)
        drafts = [] if self._rests(len(decoding)) else self._drafts(decoding)
        spent_s = self._spent_s(drafts) if any(drafts) else step_s
        self.plain_s += step_s
        self.spent_s += spent_s
        if spent_s > step_s:
            self._hold_up(decoding, spent_s - step_s)
        return drafts or [[] for _ in decoding]

    def learn(self, chunk: Chunk, accepted: int) -> None:
        """What became of the drafts of a chunk."""
        proposed, job_id = len(chunk.draft), chunk.sequence.job_id
        if not proposed:
            return
        self.proposed += proposed
        self.accepted += accepted
        self.plain_s += accepted * self._token_s
        self._lead(chunk.sequence).seconds += accepted * self._step_s
        self.acceptance.learn(job_id, self._grades[job_id], proposed, accepted)

    def forget(self, job_id: int) -> None:
        self.drafter.forget(job_id)
        self.acceptance.forget(job_id)
        self._grades.pop(job_id, None)
        self._leads.pop(job_id, None)

    def _rests(self, many: int) -> bool:
        """A crowd for which nothing has paid for long is not looked at in every step."""
        self._rested += 1
        if many >= CROWD and self._rested < self._gap:
            return True
        self._rested = 0
        return False

    def _note(self, is_worth: bool) -> None:
        """What came of a look."""
        self._fruitless = 0 if is_worth else self._fruitless + 1
        self._gap = 1 if self._fruitless < FRUITLESS else min(SELDOM, 2 * self._gap)

    def _drafts(self, decoding: Seq[Sequence]) -> list[list[int]]:
        if self._is_hopeless(decoding):
            self._note(is_worth=False)
            return []
        outlooks = [self._outlook(sequence) for sequence in decoding]
        chances = [self._chances(sequence, outlook) for sequence, outlook in zip(decoding, outlooks, strict=True)]
        spare = [self._spare_s(sequence) for sequence in decoding] if len(decoding) >= MANY else []
        lengths = worthwhile(chances, self.costs.seconds, self.drafter.seconds, spare).lengths
        self._note(any(lengths))
        self._try_another(outlooks, chances, lengths)
        return self._guess(decoding, outlooks, lengths)

    def _spent_s(self, drafts: Seq[Seq[int]]) -> float:
        lengths = [len(draft) for draft in drafts]
        passes = [sum(length > depth for length in lengths) for depth in range(max(lengths))]
        return self.costs.seconds(len(drafts) + sum(lengths)) + sum(map(self.drafter.seconds, passes))

    def _is_hopeless(self, decoding: Seq[Sequence]) -> bool:
        """Whether not even the most trusted guesses, one for each sequence, would pay, nor one be tried."""
        many = len(decoding)
        surest = max(max(self.acceptance.of(sequence.job_id)) for sequence in decoding)
        if self._purse_s >= self._price(many, 0):
            return False
        best = max(worthwhile([[surest]] * many, self.costs.seconds, self.drafter.seconds).lengths)
        return best == 0

    def _outlook(self, sequence: Sequence) -> Outlook:
        """Never beyond the cap: the last allowed token needs no draft behind it."""
        at_most = min(self.max_draft, sequence.room - 1)
        if at_most <= 0:
            return NOTHING
        outlook = self.drafter.outlook(sequence, at_most)
        catch_up_s = self.drafter.seconds(outlook.behind) if outlook.behind else 0.0
        return outlook if catch_up_s <= PAID_BACK * self._token_s * sequence.room else NOTHING

    def _hold_up(self, decoding: Seq[Sequence], seconds: float) -> None:
        for sequence in decoding:
            self._lead(sequence).seconds -= seconds

    def _lead(self, sequence: Sequence) -> Lead:
        found = self._leads.get(sequence.job_id)
        if found is None:
            found = self._leads[sequence.job_id] = Lead(0.0, self.spent_s)
        return found

    def _spare_s(self, sequence: Sequence) -> float:
        lead = self._lead(sequence)
        return lead.seconds + LAG * (self.spent_s - lead.began_s)

    def _chances(self, sequence: Sequence, outlook: Outlook) -> list[float]:
        each = self.acceptance.of(sequence.job_id)[outlook.grade]
        return [each**depth for depth in range(1, outlook.tokens + 1)]

    def _price(self, rows: int, behind: int) -> float:
        """Of one more row, and of the pass that drafts it."""
        row_s = max(0.0, self.costs.seconds(rows + 1) - self.costs.seconds(rows))
        return row_s + self.drafter.seconds(1 + behind)

    def _try_another(self, outlooks: Seq[Outlook], chances: Seq[Seq[float]], lengths: list[int]) -> None:
        """One row for the likeliest of those that got none, when the purse holds its price."""
        left = [(row[0], which) for which, row in enumerate(chances) if row and not lengths[which]]
        if not left:
            return
        _, which = max(left)
        price = self._price(len(lengths) + sum(lengths), outlooks[which].behind)
        if self._purse_s >= price:
            self._purse_s -= price
            lengths[which] = 1

    def _guess(self, decoding: Seq[Sequence], outlooks: Seq[Outlook], lengths: Seq[int]) -> list[list[int]]:
        which = [number for number, length in enumerate(lengths) if length]
        wanted = [Wanted(decoding[number], outlooks[number], lengths[number]) for number in which]
        drafts: list[list[int]] = [[] for _ in decoding]
        for number, draft in zip(which, self.drafter.guess(wanted) if wanted else [], strict=True):
            self._grades[decoding[number].job_id] = outlooks[number].grade
            drafts[number] = draft
        return drafts
