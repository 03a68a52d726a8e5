"""Memory in huge pages, where the system has them for the asking: a step reads all weights, and 4 KiB pages make it wait."""

import mmap
from threading import Lock

import torch
from torch import Tensor

PAGE = 1 << 21
CHUNK = 1 << 26
LINE = 64
"""Bytes of a cache line; every tensor begins one."""


class Arena:
    """Hands out copies of tensors, side by side, to any thread. Its memory lives as long as a tensor in it."""

    def __init__(self, chunk: int = CHUNK) -> None:
        self._chunk, self._free = chunk, torch.empty(0, dtype=torch.uint8)
        self._lock = Lock()

    def hold(self, tensor: Tensor) -> Tensor:
        """A contiguous copy. A tensor of another device, or where there are no such pages, is given back as it is."""
        if not tensor.is_cpu or not hasattr(mmap, "MADV_HUGEPAGE"):
            return tensor
        held = self._taken(tensor.numel() * tensor.element_size())
        return held.view(tensor.dtype).view(tensor.shape).copy_(tensor)

    def _taken(self, size: int) -> Tensor:
        with self._lock:
            if size > len(self._free):
                self._free = _mapped(max(size, self._chunk))
            held, self._free = self._free[:size], self._free[-(-size // LINE) * LINE :]
            return held


def _mapped(size: int) -> Tensor:
    """Bytes that begin a huge page. What is never touched costs nothing."""
    memory = mmap.mmap(-1, size + PAGE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    whole = torch.frombuffer(memory, dtype=torch.uint8)
    return whole[-whole.data_ptr() % PAGE :]
