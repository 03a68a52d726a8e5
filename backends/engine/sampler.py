"""One draw: logits of one position to one token, keyed by (seed, position).

The noise of a position comes from a counter generator (Philox), so it does not depend on what was drawn before, on the rest of
the batch, or on speculation: a draft token is accepted exactly when it equals the draw at its position, and sampled output
is token-identical with and without drafts, as greedy output is.
"""

from collections.abc import Mapping, Sequence
from copy import copy
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import GrammarState
from backends.engine.grammar.mask import only
from backends.messages import Sampling

Logits = NDArray[np.float32]
_SEED_MASK = (1 << 64) - 1

STRETCH = 256

COLDEST = 1e-6
"""Temperatures below are taken as this, so that nothing is divided by zero."""


def uniform(seed: int, position: int) -> float:
    """The number in [0, 1) that belongs to this seed and position.

    >>> uniform(42, 7) == uniform(42, 7) != uniform(42, 8)
    True
    """
    noise = np.random.Philox(key=seed & _SEED_MASK, counter=position)
    return float(np.random.Generator(noise).random())


class Sampler:
    """How the tokens of one job are drawn. Remembers which tokens were chosen, for the penalties; nothing else.

    `seed` stands in when the sampling names none. Presence and frequency penalties count the output alone, the
    repetition penalty counts the prompt too. Order: repetition, presence and frequency, bias, grammar, temperature, top_k,
    top_p, min_p.
    """

    def __init__(
        self, sampling: Sampling, prompt: Sequence[int], seed: int, grammar: GrammarState | None = None
    ) -> None:
        self._sampling = sampling
        self._grammar = grammar
        self._seed = seed if sampling.seed is None else sampling.seed
        self._counts: dict[int, int] = {}
        self._seen = set(prompt) if sampling.repetition_penalty != 1 else set()
        self._bias = _Bias(sampling.logit_bias)
        self._counts_output = bool(sampling.presence_penalty or sampling.frequency_penalty)
        self._adjusts = self._counts_output or sampling.repetition_penalty != 1 or bool(sampling.logit_bias)
        self.is_plain = sampling.temperature <= 0 and not self._adjusts and grammar is None
        """Whether the token is the largest logit as it stands."""

    def choose(self, logits: Logits, position: int) -> int:
        """The token at `position`, counted from the start of the prompt. `logits` (vocab,) is left as it is."""
        row = self._adjusted(logits) if self._adjusts else logits
        if self._grammar is not None:
            row = only(row, self._grammar.allowed())
        if self._sampling.temperature <= 0:
            return int(row.argmax())
        return draw(chances_of(row, self._sampling), uniform(self._seed, position))

    def count(self, token: int) -> None:
        """The token was chosen: from now on it is penalised, and the grammar goes on behind it."""
        if self._counts_output:
            self._counts[token] = self._counts.get(token, 0) + 1
        if self._sampling.repetition_penalty != 1:
            self._seen.add(token)
        if self._grammar is not None:
            self._grammar.accept(token)

    def ahead(self) -> "Sampler":
        """One that goes on from here for a guess: what is counted there leaves no trace here."""
        other = copy(self)
        other._counts, other._seen = dict(self._counts), set(self._seen)
        other._grammar = None if self._grammar is None else self._grammar.copy()
        return other

    def _adjusted(self, logits: Logits) -> Logits:
        row = logits.copy()
        if self._seen:
            _repel(row, self._seen, self._sampling.repetition_penalty)
        if self._counts:
            tokens, counts = _columns(self._counts)
            row[tokens] -= self._sampling.presence_penalty + self._sampling.frequency_penalty * counts
        self._bias.add_to(row)
        return row


class _Bias:
    def __init__(self, bias: Mapping[int, float]) -> None:
        self._tokens, self._values = _columns(bias)

    def add_to(self, row: Logits) -> None:
        row[self._tokens] += self._values


class Chances(NamedTuple):
    """The tokens that may be drawn, by rising id, and how likely each is; the likeliest token has 1."""

    tokens: NDArray[np.intp]
    weights: Logits

    def only(self, kept: NDArray[np.bool_]) -> "Chances":
        return Chances(self.tokens[kept], self.weights[kept])


def chances_of(logits: Logits, sampling: Sampling) -> Chances:
    """After temperature, top_k, top_p and min_p, in this order. Ties at a cut stay in.

    Weights are float32, sums float64: relative errors of 1e-7, the same whatever else is in the batch.
    """
    chances = _most_likely(logits, sampling.top_k)
    scaled = (chances.weights - logits.max()) / np.float32(max(sampling.temperature, COLDEST))
    chances = Chances(chances.tokens, np.exp(scaled))
    if sampling.top_p < 1:
        chances = _nucleus(chances, sampling.top_p)
    if sampling.min_p > 0:
        chances = chances.only(chances.weights >= sampling.min_p)
    return chances


def draw(chances: Chances, at: float) -> int:
    """The token in whose share of the whole the point `at` of [0, 1) falls.

    Sums of stretches first, then within one: a running sum over a whole vocabulary takes 470 us, this 30.
    """
    weights = chances.weights
    sums = np.add.reduceat(weights, np.arange(0, weights.size, STRETCH), dtype=np.float64)
    stretch, rest = _locate(sums, at * float(sums.sum()))
    start = stretch * STRETCH
    within, _ = _locate(weights[start : start + STRETCH], rest)
    return int(chances.tokens[start + within])


def _locate(weights: NDArray[np.floating], point: float) -> tuple[int, float]:
    """The entry whose share `point` falls into, and how far into it. Never one of weight 0, whatever was rounded."""
    mass = np.cumsum(weights, dtype=np.float64)
    point = min(point, float(np.nextafter(mass[-1], 0)))
    entry = int(np.searchsorted(mass, point, side="right"))
    return entry, point - (float(mass[entry - 1]) if entry else 0.0)


def _most_likely(logits: Logits, top_k: int) -> Chances:
    """The `top_k` largest logits, all for 0; as logits yet."""
    every = Chances(np.arange(logits.size), logits)
    if not 0 < top_k < logits.size:
        return every
    return every.only(logits >= np.partition(logits, -top_k)[-top_k])


def _nucleus(chances: Chances, top_p: float) -> Chances:
    """The smallest set that holds `top_p` of the mass.

    Only tokens above (1 - top_p) / count are sorted: the others together hold at most 1 - top_p.
    """
    total = float(chances.weights.sum(dtype=np.float64))
    likely = chances.only(chances.weights >= (1 - top_p) * total / chances.weights.size)
    falling = np.sort(likely.weights)[::-1]
    last = int(np.searchsorted(np.cumsum(falling, dtype=np.float64), top_p * total))
    return likely.only(likely.weights >= falling[min(last, falling.size - 1)])


def _repel(row: Logits, tokens: set[int], penalty: float) -> None:
    """Keskar et al., CTRL (arXiv 1909.05858): divide what is positive, multiply what is negative."""
    ids = np.fromiter(tokens, np.intp, len(tokens))
    values = row[ids]
    row[ids] = np.where(values > 0, values / penalty, values * penalty)


def _columns(table: Mapping[int, float]) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    return (
        np.fromiter(table.keys(), np.intp, len(table)),
        np.fromiter(table.values(), np.float32, len(table)),
    )
