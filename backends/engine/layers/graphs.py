"""The stack as CUDA graphs: one launch for all layers of a pass, where eager launches cost more than the work.

A graph reads and writes fixed addresses. So a pass's tensors are copied into buffers of the shape's own, the graph that was
captured on them runs, and its output is read. Shapes recur, since rows, sequences and tiles are padded to few sizes.
"""

from collections.abc import Callable, Iterator, Sequence
from threading import Lock
from typing import ClassVar, Protocol

import torch
from torch import Tensor

from backends.engine.layers.stack import Group, Paging, Stack

MOST_GRAPHS = 64
"""Shapes that are captured, the first ones that come; others run as they are."""

Run = Callable[[], Tensor]


class Capture(Protocol):
    """Turns a run into one that does the same work on the same memory."""

    def __call__(self, run: Run) -> Run: ...


class CudaCapture:
    """Captured after one run on the same stream, since libraries make their handles in the first. Graphs of one engine never
    run at once, so they share memory.

    Another engine of this process may allocate in its own thread meanwhile: so the stream is this one's own, and only what
    this thread does is held to the rules of a capture. That it captures, too, torch forbids.
    """

    _turn: ClassVar[Lock] = Lock()

    def __init__(self) -> None:
        self._memory = torch.cuda.graph_pool_handle()
        self._stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]

    def __call__(self, run: Run) -> Run:
        self._stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(self._stream):
            run()
        torch.cuda.current_stream().wait_stream(self._stream)
        graph = torch.cuda.CUDAGraph()
        capturing = torch.cuda.graph(graph, pool=self._memory, stream=self._stream, capture_error_mode="thread_local")
        with self._turn, capturing:
            output = run()

        def replay() -> Tensor:
            graph.replay()
            return output

        return replay


class Graphs:
    """A stack that is captured for each shape of a pass of one group, which is what decoding is. Tiles must be gathered:
    those in place have no one address."""

    def __init__(self, stack: Stack, capture: Capture, most: int = MOST_GRAPHS) -> None:
        self._stack, self._capture, self._most = stack, capture, most
        self._captured: dict[tuple[tuple[int, ...], ...], tuple[list[Tensor], Run]] = {}

    def __call__(self, hidden: Tensor, turns: Tensor, paging: Paging) -> Tensor:
        """A copy, since the next pass of this shape overwrites what its graph gives."""
        if len(paging.groups) != 1:
            return self._stack(hidden, turns, paging)
        given = [hidden, turns, *_tensors(paging)]
        shape = tuple(tuple(tensor.shape) for tensor in given)
        if shape not in self._captured:
            if len(self._captured) == self._most:
                return self._stack(hidden, turns, paging)
            held = [tensor.clone() for tensor in given]
            self._captured[shape] = held, self._capture(self._run(held, paging))
        held, replay = self._captured[shape]
        for buffer, tensor in zip(held, given, strict=True):
            buffer.copy_(tensor, non_blocking=True)
        return replay().clone()

    def _run(self, held: Sequence[Tensor], like: Paging) -> Run:
        """The stack on the held tensors. It works on a copy of the hidden states, so that a run can be repeated."""
        hidden, turns, *others = held
        paging = _paging(like, iter(others))
        return lambda: self._stack(hidden.clone(), turns, paging)


def _tensors(paging: Paging) -> Iterator[Tensor]:
    """What differs from pass to pass. The pool's own tensors, which every pass shares, are not copied."""
    yield from (paging.slots, paging.back)
    for group in paging.groups:
        yield group.take
        yield from group.masks
        yield from (reach.tensors[0] for reach in group.reaches)


def _paging(like: Paging, held: Iterator[Tensor]) -> Paging:
    slots, back = next(held), next(held)
    return Paging(like.layers, slots, [_group(group, held) for group in like.groups], back)


def _group(like: Group, held: Iterator[Tensor]) -> Group:
    take, masks = next(held), [next(held) for _ in like.masks]
    reaches = [
        reach.of([next(held), *reach.tensors[1:]], mask.shape[-1])
        for reach, mask in zip(like.reaches, masks, strict=True)
    ]
    return Group(take, reaches, masks)
