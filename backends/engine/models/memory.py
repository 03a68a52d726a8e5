"""Torch's ways of saying that memory ran out, as the one that the engine knows how to answer: MemoryError."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

CPU_SAYS = "can't allocate memory"
"""The CPU allocator raises a plain RuntimeError with these words."""


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raises MemoryError where torch raises OutOfMemoryError, or its CPU allocator a RuntimeError."""
    try:
        yield
    except RuntimeError as error:
        if isinstance(error, torch.OutOfMemoryError) or CPU_SAYS in str(error):
            raise MemoryError(str(error).splitlines()[0][:200]) from error
        raise
