"""An escalation as deciding and judging use it: where to, at which doubt, by which signals, within which bounds."""

from collections.abc import Mapping
from typing import Literal

import msgspec

from policies.escalate.task import Task

Signal = Literal[
    "token_quantiles", "schema_valid", "refusal", "empty", "repetition", "cut", "reckoning", "length", "agreement"
]

Moves = Literal["answer", "conversation"]
"""What goes to the larger model: the answer that was not good enough, or it and all turns after it."""


class Weights(msgspec.Struct, frozen=True, kw_only=True):
    """A logistic: P(correct) = 1 / (1 + exp(-(bias + sum of weight x measure))).

    `estimate` weighs the router's own log-odds for the question, as far as they lie from `usual` log-odds. `tasks` holds what
    stands in its place where that is asked for; those have none of their own.
    """

    bias: float
    measures: Mapping[str, float] = {}
    estimate: float = 0.0
    usual: float = 0.0
    tasks: Mapping[Task, "Weights"] = {}


class Escalation(msgspec.Struct, frozen=True, kw_only=True):
    """`under` is the chance of being right below which the answer is given up for one of `to`; 0: no answer is judged.
    `stuck_turns` is how many steps of an agent in a row may come to nothing before `to` is asked at once; 0: any number.

    Until `tokens` have come, or `hold_s` has passed since the first of them, nothing reaches a streaming client.
    `at_most` is the share of the route's requests that may escalate. `weights` by model, "" for all others.
    `early_under`: when the chance is below it at half of the window, `to` is asked already; 0: never.
    `second` is a model whose answer is compared, where the answer leaves in one piece, or "".
    `moves`: whether the turns after it stay with `to`.
    `logprobs_of` are the models that can be asked for the probabilities of their tokens.
    """

    name: str
    to: str
    under: float
    signals: frozenset[Signal]
    tokens: int = 48
    hold_s: float = 0.4
    at_most: float = 1.0
    second: str = ""
    early_under: float = 0.0
    moves: Moves = "conversation"
    stuck_turns: int = 0
    weights: Mapping[str, Weights] = {}
    logprobs_of: frozenset[str] = frozenset()

    def weights_of(self, model: str) -> Weights:
        return self.weights.get(model) or self.weights[""]

    def weighed_as(self, model: str, task: Task) -> Task:
        """The task whose weights judge an answer of `model`; "" where the model's own do."""
        return task if task and task in self.weights_of(model).tasks else ""
