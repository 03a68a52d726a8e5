"""What each precision costs in quality: perplexity on a short text, and agreement with float32."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import BLOCK_TOKENS, LanguageModel, Step
from backends.engine.layers.linear import Precision
from backends.engine.models.torch_model import TorchModel
from backends.engine.spec import CodedSource
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.opening import OpenedWeights, open_weights

PRECISIONS: tuple[Precision, ...] = ("float32", "bfloat16", "int8", "int4")
TEXT = (
    "A harbour town wakes before the light does. The first boats leave while the street lamps still burn, and by the time "
    "the bakery opens its shutters they are small marks on the horizon. In winter the wind comes from the north and keeps "
    "everybody indoors; in summer the same wind is a relief. Visitors ask why the houses are painted in such strong colours. "
    "The answer that the fishermen give is simple: on a grey morning you want to find your own door from far away. Nobody "
    "knows whether this is true, but the colours are renewed every spring, and the children are allowed to choose them."
)
"""Written for this purpose, so that no model has learned it by heart."""


@dataclass(frozen=True, slots=True)
class Quality:
    """Over one text: perplexity; mean divergence from float32 in nats; share of positions with float32's greedy choice."""

    precision: Precision
    perplexity: float
    divergence: float
    agreement: float


def quantise_report(
    path: Path,
    precisions: Sequence[Precision] = PRECISIONS,
    build: Callable[[OpenedWeights, Precision, int], LanguageModel] | None = None,
) -> Iterator[Quality]:
    """One Quality for each precision, as it is measured. `build` makes a model with so many blocks; TorchModel by default.

    Raises WeightsError when the weights cannot be opened, or are integers already and have no float32 to compare with.
    """
    opened, make = open_weights(path), build or _torch_model
    if isinstance(opened.source, CodedSource):
        raise WeightsError(
            f"{path.name} holds {opened.source.precision} alone: compare the weights that it was made from"
        )
    tokens = opened.tokenizer.encode(TEXT)[: opened.spec.context]
    blocks = -(-len(tokens) // BLOCK_TOKENS)
    reference = _log_probabilities(make(opened, "float32", blocks), tokens)
    for precision in precisions:
        is_itself = precision == "float32"
        ours = reference if is_itself else _log_probabilities(make(opened, precision, blocks), tokens)
        yield _quality(precision, ours, reference, tokens)


def _torch_model(opened: OpenedWeights, precision: Precision, blocks: int) -> LanguageModel:
    return TorchModel(opened.spec, opened.source, precision, blocks)


def _log_probabilities(model: LanguageModel, tokens: Sequence[int]) -> NDArray[np.float64]:
    """(tokens, vocabulary), each row after reading the text up to there."""
    rows = np.arange(len(tokens), dtype=np.int32)
    table = np.arange(model.blocks, dtype=np.int32)[None]
    step = Step(np.array(tokens, np.int32), rows, np.zeros_like(rows), table, rows)
    logits = model.forward(step).astype(np.float64)
    shifted = logits - logits.max(axis=1, keepdims=True)
    return np.asarray(shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True)))


def _quality(
    precision: Precision, ours: NDArray[np.float64], reference: NDArray[np.float64], tokens: Sequence[int]
) -> Quality:
    surprise = -ours[np.arange(len(tokens) - 1), np.array(tokens[1:])]
    divergence = (np.exp(reference) * (reference - ours)).sum(axis=1)
    same = ours.argmax(axis=1) == reference.argmax(axis=1)
    return Quality(precision, float(np.exp(surprise.mean())), float(divergence.mean()), float(same.mean()))
