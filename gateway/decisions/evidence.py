"""What a log's drawn choices say of another policy: each decision as a sample of cost and of quality."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

import msgspec

from gateway.decisions.record import NOBODY, DecisionRecord, FeedbackRecord
from gateway.decisions.worth import last_words, worth_of
from policies.decision import Call, Decision
from policies.offpolicy.estimate import Bounds, estimate
from policies.offpolicy.sample import Found, Refused, Sample
from policies.policy import Policy
from policies.terms.cost import charge, expected_output

QUALITY: Bounds = (0.0, 1.0)
"""What callers say of an answer lies between these."""

Predict = Callable[[Policy, str, DecisionRecord], float]
"""What a reward was expected to be at a model, by what was known before anybody answered."""

UNDECIDED = 0.5
"""The chance of a good answer where nobody estimated one."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """Of `decisions` the mean reward under another policy, and the change: by weights alone, and with predictions beside them
    (doubly robust)."""

    decisions: int
    weighted: Found | Refused
    robust: Found | Refused


@dataclass(slots=True)
class Evidence:
    """Samples under two policies, decision by decision: `before` None where the log itself is what is compared with."""

    keys: list[tuple[str, str]] = field(default_factory=list)
    costs: list[tuple[Sample, Sample | None]] = field(default_factory=list)
    qualities: list[tuple[Sample, Sample | None]] = field(default_factory=list)
    told: list[FeedbackRecord] = field(default_factory=list)
    _lone: Iterator[int] = field(default_factory=lambda: count(1))

    def see(self, record: DecisionRecord, done: "Decided", after: "Decided", before: "Decided | None") -> None:
        """`done` is what was decided; `after` and `before` are what two other policies would have."""
        if not isinstance(record.decision.choice, Call):
            return
        unit = record.snapshot.draw or -float(next(self._lone))
        self.keys.append((record.tenant, record.request_id))
        for rewards, predict in ((self.costs, foreseen), (self.qualities, hoped)):
            than = None if before is None else sample(record, done, before, predict, unit)
            rewards.append((sample(record, done, after, predict, unit), than))

    def cost(self) -> Verdict | None:
        """In micro-dollars a decision; None where nothing was decided."""
        return verdict(self.costs, None) if self.costs else None

    def quality(self) -> Verdict | None:
        """Of the decisions that callers told something of; None where that is none."""
        words = last_words(self.told)
        rated = [
            (with_reward(after, worth), None if before is None else with_reward(before, worth))
            for key, (after, before) in zip(self.keys, self.qualities, strict=True)
            if key in words and (worth := worth_of(words[key])) is not None
        ]
        return verdict(rated, QUALITY) if rated else None


class Decided(msgspec.Struct, frozen=True):
    """A decision with the policy that made it: of an experiment, that of its variant."""

    policy: Policy
    decision: Decision

    @classmethod
    def by(cls, policy: Policy, decision: Decision) -> "Decided":
        return cls(policy.arm(decision.assignments), decision)


def sample(record: DecisionRecord, own: Decided, other: Decided, predict: Predict, unit: float) -> Sample:
    """The reward is the cost; whoever wants another puts it in."""
    done = first_of(own.decision)
    logged, target = chances(own.decision), chances(other.decision)
    shown = {model: p for model, p in target.items() if model in logged}
    return Sample(
        unit=unit,
        reward=float(record.outcome.microusd),
        logged=logged[done],
        target=target.get(done, 0.0),
        predicted=predict(own.policy, done, record),
        expected=sum([p * predict(other.policy, model, record) for model, p in shown.items()]),
        open=1.0 - min(1.0, sum(shown.values())),
    )


def chances(decision: Decision) -> Mapping[str, float]:
    """With which each model would have been asked first."""
    return decision.propensity or {first_of(decision): 1.0}


def first_of(decision: Decision) -> str:
    return decision.choice.model if isinstance(decision.choice, Call) else NOBODY


def foreseen(policy: Policy, model: str, record: DecisionRecord) -> float:
    """What the request was to cost at `model` before anybody answered: how long an answer became tells of who gave it."""
    facts = record.facts
    return charge(policy.models[model].price, facts.tokens_for(model), expected_output(facts.max_tokens))


def hoped(policy: Policy, model: str, record: DecisionRecord) -> float:
    """The chance of a good answer as it was estimated."""
    return record.estimate.p_good.get(policy.models[model].head, UNDECIDED)


def with_reward(one: Sample, reward: float) -> Sample:
    return msgspec.structs.replace(one, reward=reward)


def verdict(pairs: Sequence[tuple[Sample, Sample | None]], bounds: Bounds | None) -> Verdict:
    after = [one for one, _ in pairs]
    before = [one for _, one in pairs if one is not None]
    against, plain_against = (before, [unforeseen(one) for one in before]) if before else (None, None)
    weighted = estimate([unforeseen(one) for one in after], against=plain_against, bounds=bounds)
    return Verdict(decisions=len(pairs), weighted=weighted, robust=estimate(after, against=against, bounds=bounds))


def unforeseen(one: Sample) -> Sample:
    return msgspec.structs.replace(one, predicted=0.0, expected=0.0)
