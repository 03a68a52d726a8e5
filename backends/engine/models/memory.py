"""Torch's ways of saying that memory ran out, as the one that the engine knows how to answer: MemoryError."""

from collections.abc import Iterator
from contextlib import contextmanager

import torch

CPU_SAYS = "can't allocate memory"
"""The CPU allocator raises a plain RuntimeError with these words."""


@contextmanager
def memory_errors() -> Iterator[None]:
    """Raises MemoryError where torch raises OutOfMemoryError, or its CPU allocator a RuntimeError. While a graph is captured
    the end of the capture fails as well, which hides the first error behind one that says nothing of memory."""
    try:
        yield
    except RuntimeError as error:
        said = next(filter(_is_of_memory, _chain(error)), None)
        if said is None:
            raise
        raise MemoryError(str(said).splitlines()[0][:200]) from error


def _is_of_memory(error: BaseException) -> bool:
    return isinstance(error, torch.OutOfMemoryError) or CPU_SAYS in str(error)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those during whose handling it was raised."""
    while error is not None:
        yield error
        error = error.__context__
