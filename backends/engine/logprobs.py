"""Log-probabilities of the model's own distribution at one position, before penalties, bias and temperature."""

import numpy as np
from numpy.typing import NDArray

from backends.engine.transcript import Vocabulary
from backends.messages import TokenLogprob


def read_logprobs(logits: NDArray[np.float32], token: int, top: int, vocabulary: Vocabulary) -> TokenLogprob:
    """Natural-log probability of `token`, and of the `top` likeliest, falling (ties by lower id). `logits` is (vocab,)."""
    peak = logits.max()
    norm = float(peak) + float(np.log(np.exp(logits - peak).sum(dtype=np.float64)))
    alternatives = tuple(_entry(other, logits, norm, vocabulary) for other in _likeliest(logits, top))
    chosen = _entry(token, logits, norm, vocabulary)
    return TokenLogprob(chosen.token, chosen.data, chosen.logprob, alternatives)


def _likeliest(logits: NDArray[np.float32], top: int) -> list[int]:
    if top <= 0:
        return []
    edge = np.partition(logits, -top)[-top] if top < logits.size else logits.min()
    ids = np.flatnonzero(logits >= edge)
    return [int(token) for token in ids[np.argsort(-logits[ids], kind="stable")][:top]]


def _entry(token: int, logits: NDArray[np.float32], norm: float, vocabulary: Vocabulary) -> TokenLogprob:
    data = vocabulary.token_bytes(token)
    return TokenLogprob(data.decode("utf-8", "replace"), data, min(0.0, float(logits[token]) - norm))
