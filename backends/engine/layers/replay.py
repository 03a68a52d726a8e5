"""The stack without the interpreter: its operations recorded once, then run one after the other.

One decode row spends a third of its time in Python between operations that take a microsecond each. The recorded ones are
the same, in the same order, unfused, so the bits are the same; `tests/engine/test_models_replay.py` holds that.
"""

import warnings
from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor

from backends.engine.layers.pool import Reach
from backends.engine.layers.stack import Group, Paging, Stack

Recorded = Callable[[Tensor, Tensor, list[Tensor], list[Tensor]], Tensor]


class Replay:
    """A stack that is recorded for passes of one group and one tile, which is what decoding is up to 512 positions. Other
    passes run as they are, and so does a stack that cannot be recorded: oneDNN's packed weights cannot."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._recorded: dict[type[Reach], Recorded | None] = {}

    def __call__(self, hidden: Tensor, turns: Tensor, paging: Paging) -> Tensor:
        if len(paging.groups) != 1 or len(paging.groups[0].reaches) != 1:
            return self._stack(hidden, turns, paging)
        kind = type(paging.groups[0].reaches[0])
        if kind not in self._recorded:
            self._recorded[kind] = self._record(hidden.clone(), turns, paging)
        recorded = self._recorded[kind]
        if recorded is None:
            return self._stack(hidden, turns, paging)
        with torch.jit.optimized_execution(False):  # type: ignore[attr-defined]  # or it may fuse
            return recorded(hidden, turns, list(paging.layers), _tensors(paging))

    def _record(self, hidden: Tensor, turns: Tensor, paging: Paging) -> Recorded | None:
        """What is written to must come in as an argument: a recording keeps one of all its constants that are equal, and
        two layers of an empty pool are."""
        reach = paging.groups[0].reaches[0]

        def run(hidden: Tensor, turns: Tensor, layers: list[Tensor], tensors: list[Tensor]) -> Tensor:
            slots, back, take, mask, *blocks = tensors
            group = Group(take, [reach.of(blocks, mask.shape[-1])], [mask])
            return self._stack(hidden, turns, Paging(layers, slots, [group], back))

        example = (hidden, turns, list(paging.layers), _tensors(paging))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                return cast(Recorded, torch.jit.trace(run, example, check_trace=False))  # type: ignore[no-untyped-call]
        except RuntimeError:
            return None


def _tensors(paging: Paging) -> list[Tensor]:
    (group,) = paging.groups
    return [paging.slots, paging.back, group.take, group.masks[0], *group.reaches[0].tensors]
