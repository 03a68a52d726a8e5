"""Rotary position frequencies. Su et al., RoFormer, arXiv 2104.09864; Llama 3's scaling as published with its weights."""

import math

import numpy as np
from numpy.typing import NDArray

from backends.engine.spec import ModelSpec, RopeScaling


def frequencies(spec: ModelSpec) -> NDArray[np.float64]:
    """Radians per position of each rotary pair, (head_dim / 2,), scaled where the spec says so."""
    plain = spec.rope_theta ** -(np.arange(0, spec.head_dim, 2, dtype=np.float64) / spec.head_dim)
    return plain if spec.rope_scaling is None else plain / divisors(plain, spec.rope_scaling)


def divisors(plain: NDArray[np.float64], scaling: RopeScaling) -> NDArray[np.float64]:
    """What each frequency is divided by: 1 for short waves, `factor` for long ones, smooth between."""
    turns = plain * scaling.original_context / (2 * math.pi)
    span = scaling.high_freq_factor - scaling.low_freq_factor
    smooth = np.clip((turns - scaling.low_freq_factor) / span, 0.0, 1.0)
    return np.asarray(1.0 / ((1.0 - smooth) / scaling.factor + smooth))


def rotary_table(spec: ModelSpec, positions: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Cosines and sines of shape (positions, head_dim / 2)."""
    angles = np.arange(positions, dtype=np.float64)[:, None] * frequencies(spec)[None, :]
    return np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
