"""Experiments as deciding and judging use them: variants and their shares, what is measured, what stops it."""

from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

Unit = Literal["user", "api_key", "tenant", "conversation", "request"]
Kind = Literal["binary", "mean", "ratio", "quantile"]
Better = Literal["up", "down"]
Act = Literal["roll_back", "hold"]
Then = Literal["ask", "promote"]
CompareWith = Literal["matched", "rest"]

CONTROL = "control"
"""The variant that the others are compared with: the one of this name, else the first."""

CANARY = "canary"
"""The variant of a rollout that has the change."""

REST = "rest"
"""Who has control because they were not drawn, while a rollout tries its change on some: no variant, but as good as control."""


class Metric(msgspec.Struct, frozen=True):
    """What is measured of a request.

    binary: it happened or not; mean: an amount; ratio: an amount for each occasion (score for each rating), where most
    requests have none; quantile: the `quantile` of an amount. `name` is what the policy file calls it.
    """

    name: str
    source: str
    kind: Kind
    better: Better
    quantile: float = 0.0


class Margin(msgspec.Struct, frozen=True):
    """How much worse is still borne: the variant's value may come to `times` the control's plus `plus`."""

    times: float = 1.0
    plus: float = 0.0


class Guardrail(msgspec.Struct, frozen=True, kw_only=True):
    """What must not become worse than control by more than its margin. `alpha`: the chance that it is said to be though it
    is not, however often it is looked at."""

    name: str
    metric: Metric
    margin: Margin
    alpha: float
    act: Act = "roll_back"


class Variant(msgspec.Struct, frozen=True):
    """An arm. `sets` stands for what it changes in the policy, "" where that is nothing: other changes, another test."""

    name: str
    weight: float
    sets: str = ""

    @property
    def changes(self) -> bool:
        """It is decided by a policy of its own."""
        return bool(self.sets)


class Step(msgspec.Struct, frozen=True):
    """Of a rollout: `share` of the units have the change, for `for_s` at least and until `samples` of its requests are over; or
    it waits until `approve` says so; or nobody has it, and the share `shadow` of the requests is asked by it as well, after
    their answers, until `pairs` answers are compared."""

    share: float = 0.0
    for_s: float = 0.0
    samples: int = 0
    approve: str = ""
    shadow: float = 0.0
    pairs: int = 0


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """`starts` and `ends` bound the share of the layer's units that take part, within [0, 1). `before` are weights that it
    had earlier, oldest first, so that a change moves as few units as it can. `routes` are those whose requests take part.

    `adjust_by` names covariates that are known before assignment. `at_most_s` is how long it may run, None for ever.
    `sample_ratio_alpha`: how sure it must be that variants get other shares than they should before it is held. `steps` are
    those of a rollout, whose weights are shares of all units: what they leave over takes no part. Its canary is compared with a
    sample of its size (`matched`) or with everybody else (`rest`).
    """

    name: str
    unit: Unit
    layer: str
    salt: str
    variants: tuple[Variant, ...]
    routes: frozenset[str]
    starts: float = 0.0
    ends: float = 1.0
    before: tuple[Mapping[str, float], ...] = ()
    primary: Metric | None = None
    also: tuple[Metric, ...] = ()
    smallest_effect: Margin | None = None
    adjust_by: tuple[str, ...] = ()
    alpha: float = 0.05
    at_most_s: float | None = None
    then: Then = "ask"
    watch: tuple[Guardrail, ...] = ()
    sample_ratio_alpha: float = 0.001
    steps: tuple[Step, ...] = ()
    compare_with: CompareWith = "matched"

    @property
    def control(self) -> str:
        names = [variant.name for variant in self.variants]
        return CONTROL if CONTROL in names else names[0]

    @property
    def treatments(self) -> tuple[str, ...]:
        return tuple([variant.name for variant in self.variants if variant.name != self.control])

    @property
    def weights(self) -> Mapping[str, float]:
        return {variant.name: variant.weight for variant in self.variants}

    def ramped(self, history: Sequence[Mapping[str, float]]) -> "Experiment":
        """With the last weights of `history`, which followed its own; a variant that is not among them has none."""
        if not history:
            return self
        variants = tuple([Variant(known.name, history[-1].get(known.name, 0.0), known.sets) for known in self.variants])
        if self.steps:
            ends = round(sum(history[-1].values()), 9)
            return msgspec.structs.replace(self, variants=variants, ends=ends, before=tuple(history[:-1]))
        before = (*self.before, self.weights, *history[:-1])
        return msgspec.structs.replace(self, variants=variants, before=before)


class Assignment(msgspec.Struct, frozen=True):
    """One unit in one experiment, at the moment it mattered. `propensity` is the chance that it had to be in this variant;
    `unit` is a digest. `changes`: the variant decides by a policy of its own."""

    experiment: str
    variant: str
    unit: str
    propensity: float
    changes: bool = False
