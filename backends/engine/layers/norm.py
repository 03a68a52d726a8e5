"""Root mean square norm of the last dimension, y = x * w / sqrt(mean(x^2) + eps). Zhang and Sennrich, arXiv 1910.07467."""

import torch
from torch import Tensor


class RmsNorm:
    """As |x| / sqrt(n), so that the mean and its root are one operation of the library: four in all, its own norm has eight."""

    def __init__(self, weight: Tensor, eps: float) -> None:
        """weight: (..., n), of one vector or of each of several."""
        columns = weight.shape[-1]
        self.weight: Tensor = weight * columns**0.5
        self.least = torch.full((), (columns * eps) ** 0.5, device=weight.device)

    def __call__(self, rows: Tensor) -> Tensor:
        """(m, ..., n) float32 → the same."""
        length: Tensor = torch.linalg.vector_norm(rows, dim=-1, keepdim=True)
        return (rows * self.weight).div_(torch.hypot(length, self.least))
