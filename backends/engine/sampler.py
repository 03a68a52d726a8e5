"""One draw: logits of one position to one token, keyed by (seed, position).

The noise of a position comes from a counter generator (Philox), so it does not depend on what was drawn before, on the rest of
the batch, or on speculation: a draft token is accepted exactly when it equals the draw at its position, and sampled output
is token-identical with and without drafts, as greedy output is.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from backends.messages import Sampling

Logits = NDArray[np.float32]
_SEED_MASK = (1 << 64) - 1


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
    repetition penalty counts the prompt too. Order: repetition, presence and frequency, bias, temperature, top_k, top_p, min_p.
    """

    def __init__(self, sampling: Sampling, prompt: Sequence[int], seed: int) -> None:
        self._sampling = sampling
        self._seed = seed if sampling.seed is None else sampling.seed
        self._counts: dict[int, int] = {}
        self._seen = set(prompt) if sampling.repetition_penalty != 1 else set()
        self._bias = _Bias(sampling.logit_bias)
        self._counts_output = bool(sampling.presence_penalty or sampling.frequency_penalty)
        self._adjusts = self._counts_output or sampling.repetition_penalty != 1 or bool(sampling.logit_bias)
        self.is_plain = sampling.temperature <= 0 and not self._adjusts
        """Whether the token is the largest logit as it stands."""

    def choose(self, logits: Logits, position: int) -> int:
        """The token at `position`, counted from the start of the prompt. `logits` (vocab,) is left as it is."""
        row = self._adjusted(logits) if self._adjusts else logits
        if self._sampling.temperature <= 0:
            return int(row.argmax())
        return draw(probabilities(row, self._sampling), uniform(self._seed, position))

    def count(self, token: int) -> None:
        """The token was chosen: from now on it is penalised."""
        if self._counts_output:
            self._counts[token] = self._counts.get(token, 0) + 1
        if self._sampling.repetition_penalty != 1:
            self._seen.add(token)

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


def probabilities(logits: Logits, sampling: Sampling) -> NDArray[np.float64]:
    """Unnormalised chances after temperature, top_k, top_p and min_p; the likeliest token has 1. Ties at a cut stay in."""
    scaled = (logits.astype(np.float64) - logits.max()) / sampling.temperature
    if 0 < sampling.top_k < scaled.size:
        scaled[scaled < np.partition(scaled, -sampling.top_k)[-sampling.top_k]] = -np.inf
    chances: NDArray[np.float64] = np.exp(scaled)
    if sampling.top_p < 1:
        chances[chances < _nucleus_edge(chances, sampling.top_p)] = 0
    if sampling.min_p > 0:
        chances[chances < sampling.min_p] = 0
    return chances


def draw(chances: NDArray[np.float64], at: float) -> int:
    """The token in whose share of the whole the point `at` of [0, 1) falls."""
    mass = np.cumsum(chances)
    point = min(at * mass[-1], np.nextafter(mass[-1], 0))
    return int(np.searchsorted(mass, point, side="right"))


def _nucleus_edge(chances: NDArray[np.float64], top_p: float) -> float:
    """The chance of the last token of the smallest set that holds `top_p` of the mass.

    Only tokens above (1 - top_p) / vocab are sorted: the others together hold at most 1 - top_p.
    """
    total = chances.sum()
    falling = np.sort(chances[chances >= (1 - top_p) * total / chances.size])[::-1]
    last = int(np.searchsorted(np.cumsum(falling), top_p * total))
    return float(falling[min(last, falling.size - 1)])


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
