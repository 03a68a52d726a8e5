"""What the native kernels are measured against: the same transformer in plain float64 numpy, and ways to run steps."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import BLOCK_TOKENS, LanguageModel, Step
from backends.engine.kernels.cpu import VARIANTS, cpu_flags
from backends.engine.layers.rotary import frequencies
from backends.engine.spec import ModelSpec, TensorSource

Logits = NDArray[np.float32]
Wide = NDArray[np.float64]

PRECISIONS = ("float32", "bfloat16", "int8", "int4")
KV_PRECISIONS = ("native", "int8")
RUNNABLE = tuple(variant for variant in VARIANTS if variant.needs <= cpu_flags())


def ints(values: object) -> NDArray[np.int32]:
    return np.asarray(values, np.int32)


def reference_logits(spec: ModelSpec, source: TensorSource, tokens: Sequence[int]) -> Wide:
    """(tokens, vocab) logits of one sequence, every row."""
    x = _wide(source, "embed")[list(tokens)]
    for layer in range(spec.layers):
        name = f"layers.{layer}."
        x = x + _attention(spec, source, name, _norm(x, _wide(source, name + "attn_norm"), spec.rms_eps))
        x = x + _mlp(source, name, _norm(x, _wide(source, name + "mlp_norm"), spec.rms_eps))
    x = _norm(x, _wide(source, "norm"), spec.rms_eps)
    return x @ _wide(source, "embed" if spec.tied_head else "head").T


def _wide(source: TensorSource, name: str) -> Wide:
    return source.tensor(name).astype(np.float64)


def _norm(x: Wide, weight: Wide, eps: float) -> Wide:
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + eps) * weight


def _mlp(source: TensorSource, name: str, x: Wide) -> Wide:
    gate, up = x @ _wide(source, name + "gate").T, x @ _wide(source, name + "up").T
    return (gate / (1 + np.exp(-gate)) * up) @ _wide(source, name + "down").T


def _heads(spec: ModelSpec, source: TensorSource, name: str, x: Wide, count: int) -> Wide:
    """(heads, tokens, head_dim) after bias."""
    y = x @ _wide(source, name).T
    if spec.qkv_bias:
        y = y + _wide(source, name + "_bias")
    return y.reshape(len(x), count, spec.head_dim).transpose(1, 0, 2)


def _attention(spec: ModelSpec, source: TensorSource, name: str, x: Wide) -> Wide:
    q = _heads(spec, source, name + "q", x, spec.heads)
    k, v = (_heads(spec, source, name + part, x, spec.kv_heads) for part in "kv")
    if spec.qk_norm:
        q = _norm(q, _wide(source, name + "q_norm"), spec.rms_eps)
        k = _norm(k, _wide(source, name + "k_norm"), spec.rms_eps)
    q, k = _rotate(spec, q), _rotate(spec, k)
    k, v = (np.repeat(part, spec.heads // spec.kv_heads, axis=0) for part in (k, v))
    scores = q @ k.transpose(0, 2, 1) / np.sqrt(spec.head_dim)
    scores[:, np.triu_indices(len(x), 1)[0], np.triu_indices(len(x), 1)[1]] = -np.inf
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = weights / weights.sum(-1, keepdims=True) @ v
    return mixed.transpose(1, 0, 2).reshape(len(x), -1) @ _wide(source, name + "o").T


def _rotate(spec: ModelSpec, x: Wide) -> Wide:
    angles = np.arange(x.shape[1])[:, None] * frequencies(spec)
    first, second = np.split(x, 2, axis=-1)
    cosine, sine = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], -1)


@dataclass(frozen=True)
class Piece:
    """Tokens first..last-1 of one sequence, to be rows of a step."""

    sequence: int
    first: int
    last: int


def run_step(
    model: LanguageModel, texts: Sequence[Sequence[int]], tables: NDArray[np.int32], pieces: Sequence[Piece]
) -> Logits:
    """One step of these pieces with logits of every row, in the order of the pieces."""
    rows = [(piece.sequence, position) for piece in pieces for position in range(piece.first, piece.last)]
    return model.forward(
        Step(
            tokens=ints([texts[sequence][position] for sequence, position in rows]),
            positions=ints([position for _, position in rows]),
            sequence=ints([sequence for sequence, _ in rows]),
            tables=tables,
            logit_rows=ints(range(len(rows))),
        )
    )


def tables_for(texts: Sequence[Sequence[int]], blocks: Sequence[int] | None = None) -> NDArray[np.int32]:
    """A table per sequence, taking block ids from `blocks` in order (0, 1, ... when None); unused entries are 0."""
    needed = [-(-len(text) // BLOCK_TOKENS) for text in texts]
    ids = list(range(sum(needed))) if blocks is None else list(blocks)
    tables = np.zeros((len(texts), max(needed)), np.int32)
    for row, count in enumerate(needed):
        tables[row, :count], ids = ids[:count], ids[count:]
    return tables


def alone(model: LanguageModel, text: Sequence[int]) -> Logits:
    """Logits of every position of one sequence, one row per step: the bits that every schedule must give."""
    tables = tables_for([text])
    return np.concatenate([run_step(model, [text], tables, [Piece(0, i, i + 1)]) for i in range(len(text))])


def divergence(reference: Wide, logits: Logits) -> float:
    """Mean Kullback-Leibler divergence from the reference, nats per position."""
    p, q = _log_softmax(reference), _log_softmax(logits.astype(np.float64))
    return float((np.exp(p) * (p - q)).sum(-1).mean())


def _log_softmax(x: Wide) -> Wide:
    shifted = x - x.max(-1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(-1, keepdims=True)))
