"""What it costs to let the quick stage answer where both its ends lie on one side of the line, and how often it does."""

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from classifiers.heads.blend import Blend
from classifiers.heads.inputs import Floats, Inputs
from classifiers.measuring.metrics import has_gap
from classifiers.outcomes.own import first_and_last
from classifiers.stages import LEVEL, Stages

_LINES = np.arange(1, 20) / 20


class Tiered(msgspec.Struct, frozen=True, kw_only=True):
    """Over lines that send 5, 10 … 95 % of prompts to the large model, on average.

    `share_quick`: prompts that are not embedded. `apgr_loss`: what the encoder for all has more; below zero where less,
    None where the large model is no better on average.
    `moved`: decisions that differ. `inside`: prompts whose full gain lies in the quick interval, where `level` was promised.
    """

    share_quick: float
    apgr_loss: float | None
    moved: float
    inside: float
    level: float = LEVEL


class Gains(NamedTuple):
    """Of the large model over the small one, [n] each: by the encoder; by the quick stage, likely and at both ends."""

    full: Floats
    likely: Floats
    low: Floats
    high: Floats


def gains_of(blend: Blend, stages: Stages, static: Inputs, full: Floats, models: Sequence[str]) -> Gains:
    """`full` [n, models] are the blend's chances of the turns that `static` holds."""
    first, last = first_and_last(models)
    chances = (full, *map(blend.scale.apply, stages.quick.ends(static)))
    return Gains(*(p_good[:, last] - p_good[:, first] for p_good in chances))


def measure_tiered(gains: Gains, small: Floats, large: Floats) -> Tiered:
    """On prompts with these outcomes, 0..1."""
    lines = np.quantile(gains.full, 1 - _LINES)
    clear = np.stack([(gains.low > line) | (gains.high <= line) for line in lines])
    whole = np.stack([gains.full > line for line in lines])
    mixed = np.where(clear, np.stack([gains.likely > line for line in lines]), whole)
    return Tiered(
        share_quick=float(clear.mean()),
        apgr_loss=_recovered(whole, small, large) - _recovered(mixed, small, large) if has_gap(small, large) else None,
        moved=float((mixed != whole).mean()),
        inside=float(((gains.low <= gains.full) & (gains.full <= gains.high)).mean()),
    )


def _recovered(goes_large: NDArray[np.bool_], small: Floats, large: Floats) -> float:
    """APGR along the shares that these decisions [lines, n] come to."""
    share = np.concatenate([[0.0], goes_large.mean(axis=1), [1.0]])
    quality = np.concatenate([[small.mean()], np.where(goes_large, large, small).mean(axis=1), [large.mean()]])
    order = np.argsort(share, kind="stable")
    return float(np.trapezoid((quality[order] - small.mean()) / (large.mean() - small.mean()), share[order]))
