"""Which drafts a step verifies, and what becomes of them. Results never depend on it.

Every draft token has a chance to be right, learned by sequence and grade, and a price, learned from the steps. `draft.worth`
chooses as many as pay. What does not seem to pay is tried again now and then, out of a purse that bounds what it may cost.
"""

from collections.abc import Callable
from collections.abc import Sequence as Seq
from dataclasses import dataclass, field
from typing import Protocol

from backends.engine.draft.acceptance import Acceptance
from backends.engine.draft.drafter import NOTHING, Drafter, Outlook, Wanted
from backends.engine.draft.leads import Leads
from backends.engine.draft.looks import Looks
from backends.engine.draft.worth import worthwhile
from backends.engine.sampler import Sampler
from backends.engine.scheduler import Chunk
from backends.engine.sequence import Sequence

TRY_SHARE = 0.002
"""Of all time, for drafts that by what is known do not pay."""
PURSE_STEPS = 32
"""At most this many steps' worth of it are saved up, so that an idle hour is not followed by a burst of tries."""
MANY = 6
"""From so many sequences on none may fall behind: few share what they gain soon enough, as their turns to repeat come."""
WATCH = 4
"""Of so many looks that bring no draft one is timed."""
PAID_BACK = 0.2
"""Reading what a draft model has missed may take this share of the time that the rest of the answer takes at most."""


class Costs(Protocol):
    """What a step costs."""

    def seconds(self, rows: int) -> float: ...


@dataclass(slots=True)
class Speculator:
    """Chooses drafts for a step and learns from what became of them. `proposed` and `accepted` count draft tokens.

    `plain_s` and `spent_s`: what the tokens of all steps would have cost without drafts, and what they did cost, both by
    the costs as they are known. Steps without drafts are in both. `clock` tells seconds, by which looks are paid for.
    `is_watching` tells whether what the planned step takes is worth observing: with drafts always, without now and then.
    """

    drafter: Drafter
    max_draft: int
    costs: Costs
    clock: Callable[[], float]
    proposed: int = 0
    accepted: int = 0
    plain_s: float = 0.0
    spent_s: float = 0.0
    is_watching: bool = True
    acceptance: Acceptance = field(init=False)
    looks: Looks = field(default_factory=Looks)
    leads: Leads = field(default_factory=Leads)
    _grades: dict[int, int] = field(default_factory=dict)
    _unwatched: int = 0
    _purse_s: float = 0.0
    _step_s: float = 0.0
    _token_s: float = 0.0

    def __post_init__(self) -> None:
        self.acceptance = Acceptance(list(self.drafter.first_chances))

    def begin(self, job_id: int, sampler: Sampler) -> None:
        self.drafter.begin(job_id, sampler)
        self.looks.greet()

    @property
    def speedup(self) -> float:
        return self.plain_s / self.spent_s if self.spent_s else 1.0

    def propose(self, decoding: Seq[Sequence]) -> list[list[int]]:
        is_due = self.looks.is_due()
        drafts = self._looked(decoding) if is_due else [[]] * len(decoding)
        self.is_watching = is_due and self._is_watched(drafts)
        return drafts

    def learn(self, chunk: Chunk, accepted: int) -> None:
        """What became of the drafts of a chunk that had some."""
        proposed, job_id = len(chunk.draft), chunk.sequence.job_id
        self.proposed += proposed
        self.accepted += accepted
        self.plain_s += accepted * self._token_s
        self.looks.pay(accepted * self._token_s)
        self.leads.move(job_id, accepted * self._step_s, self.spent_s)
        self.acceptance.learn(job_id, self._grades[job_id], proposed, accepted)

    def forget(self, job_id: int) -> None:
        self.drafter.forget(job_id)
        self.acceptance.forget(job_id)
        self._grades.pop(job_id, None)
        self.leads.forget(job_id)

    def _looked(self, decoding: Seq[Sequence]) -> list[list[int]]:
        """A look, paid for by what it takes beside the drafter's own passes, which are among the costs."""
        began_s = self.clock()
        self._catch_up(len(decoding))
        outlooks, lengths = self._planned(decoding)
        planned_s = self.clock()
        drafts = self._guess(decoding, outlooks, lengths) if any(lengths) else [[]] * len(decoding)
        guessed_s = self.clock()
        self._book(decoding, drafts)
        self.looks.book(self.clock() - guessed_s + planned_s - began_s, len(decoding), self._step_s)
        return drafts

    def _is_watched(self, drafts: Seq[Seq[int]]) -> bool:
        self._unwatched += 1
        if not any(drafts) and self._unwatched < WATCH:
            return False
        self._unwatched = 0
        return True

    def _catch_up(self, many: int) -> None:
        """The clock of steps, and the purse, with those that nobody looked at, as if they had cost what this one does."""
        step_s, steps = self.costs.seconds(many), self.looks.waited
        self._step_s, self._token_s = step_s, step_s / many
        self._purse_s = min(self._purse_s + TRY_SHARE * step_s * steps, PURSE_STEPS * step_s)
        self.plain_s += step_s * steps
        self.spent_s += step_s * (steps - 1)

    def _planned(self, decoding: Seq[Sequence]) -> tuple[list[Outlook], list[int]]:
        """What each could be guessed to say, and how much of that is worth its rows."""
        if self._is_hopeless(decoding):
            return [], []
        outlooks = [self._outlook(sequence) for sequence in decoding]
        chances = [self._chances(sequence, outlook) for sequence, outlook in zip(decoding, outlooks, strict=True)]
        is_many = len(decoding) >= MANY
        spare = [self.leads.spare_s(sequence.job_id, self.spent_s) for sequence in decoding] if is_many else []
        lengths = worthwhile(chances, self.costs.seconds, self.drafter.seconds, spare).lengths
        self._try_another(outlooks, chances, lengths)
        return outlooks, lengths

    def _book(self, decoding: Seq[Sequence], drafts: Seq[Seq[int]]) -> None:
        """What the step takes, and how much all are held up by its drafts."""
        spent_s = self._spent_s(drafts) if any(drafts) else self._step_s
        self.spent_s += spent_s
        if spent_s > self._step_s:
            for sequence in decoding:
                self.leads.move(sequence.job_id, self._step_s - spent_s, self.spent_s)

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
