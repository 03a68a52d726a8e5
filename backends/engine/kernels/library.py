"""The kernels' C functions as Python sees them. Mirrors native/abi.h."""

import ctypes
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import Step
from backends.engine.kernels.build import NativeUnavailable
from backends.engine.weights.codes import Codes

ABI = 2

FloatArray = NDArray[np.float32]
PRECISIONS = {"float32": 0, "bfloat16": 1, "int8": 2, "int4": 3}


class Kind(IntEnum):
    """Tensors, by the names of `backends.engine.spec.TensorSource`."""

    embed = 0
    head = 1
    norm = 2
    attn_norm = 3
    mlp_norm = 4
    q = 5
    k = 6
    v = 7
    o = 8
    gate = 9
    up = 10
    down = 11
    q_bias = 12
    k_bias = 13
    v_bias = 14
    q_norm = 15
    k_norm = 16


_SIZES = ("layers", "hidden", "heads", "kv_heads", "head_dim", "mlp", "vocab", "blocks", "positions")
_SWITCHES = ("precision", "kv_int8", "threads", "qkv_bias", "qk_norm")


class Shape(ctypes.Structure):
    """Sizes of one engine."""

    _fields_ = (
        *((name, ctypes.c_int32) for name in (*_SIZES, *_SWITCHES)),
        ("rms_eps", ctypes.c_float),
    )


_POINTERS = ("tokens", "positions", "sequence", "tables", "logit_rows")


class _Rows(ctypes.Structure):
    _fields_ = (
        *((name, ctypes.c_int32) for name in ("rows", "sequences", "width", "wanted")),
        *((name, ctypes.c_void_p) for name in _POINTERS),
    )


STATUS = {
    1: "a token is outside the vocabulary",
    2: "a position is outside the context or the block table",
    3: "a sequence index is outside the tables",
    4: "a block id is outside the pool",
    5: "a logit row is outside the step",
}
"""Faults of the caller; numbers 6 to 8 are raised as what they are."""
OUT_OF_MEMORY, FORKED, BAD_TENSOR = 6, 7, 8


@dataclass(frozen=True, slots=True)
class Library:
    """A loaded build. The functions release the GIL while they run."""

    functions: ctypes.CDLL

    def create(self, shape: Shape) -> int:
        """A handle. Raises MemoryError."""
        handle = self.functions.turnout_create(ctypes.byref(shape))
        if not handle:
            raise MemoryError("not enough memory for the weights and the KV pool")
        return int(handle)

    def destroy(self, handle: int) -> None:
        self.functions.turnout_destroy(handle)

    def take(self, handle: int, kind: Kind, layer: int, tensor: FloatArray) -> None:
        """Pack one tensor. Raises ValueError when its shape is not the model's."""
        array = np.ascontiguousarray(tensor, dtype=np.float32)
        rows, columns = array.shape if array.ndim == 2 else (1, array.size)
        if self.functions.turnout_take(handle, kind, layer, array.ctypes.data, rows, columns):
            raise ValueError(f"tensor {kind.name} of layer {layer} has the wrong shape {array.shape}")

    def take_stored(self, handle: int, kind: Kind, layer: int, stored: Codes) -> None:
        """Pack a tensor that is integers already. Raises ValueError when shape or precision is not the model's."""
        values, scales, minima = (
            None if part is None else np.require(part, requirements=["C", "A"])
            for part in (stored.values, stored.scales, stored.minima)
        )
        places = [None if part is None else part.ctypes.data for part in (values, scales, minima)]
        shape = (len(stored.values), stored.columns)
        if self.functions.turnout_take_stored(handle, kind, layer, *places, *shape):
            raise ValueError(f"tensor {kind.name} of layer {layer} has the wrong shape {shape} or precision")

    def rotation(self, handle: int, cosine: FloatArray, sine: FloatArray) -> None:
        """The rotary tables, (positions, head_dim / 2) each, contiguous float32."""
        self.functions.turnout_rotation(handle, cosine.ctypes.data, sine.ctypes.data)

    def step(self, handle: int, step: Step, logits: FloatArray) -> None:
        """One forward pass over contiguous int32 arrays. Raises ValueError, MemoryError, or RuntimeError after a fork."""
        rows = _Rows(len(step.tokens), *step.tables.shape, len(step.logit_rows))
        for name in _POINTERS:
            setattr(rows, name, getattr(step, name).ctypes.data)
        status = self.functions.turnout_step(handle, ctypes.byref(rows), logits.ctypes.data)
        if status:
            _fail(status)

    def weight_bytes(self, handle: int) -> int:
        """Bytes that one step at batch 1 must read."""
        return int(self.functions.turnout_weight_bytes(handle))

    def sweep(self, handle: int, threads: int) -> None:
        """Read all weights once and nothing else: the bound of a decode step, for measuring."""
        status = self.functions.turnout_sweep(handle, (ctypes.c_int64 * threads)())
        if status:
            _fail(status)


def _fail(status: int) -> None:
    if status in STATUS:
        raise ValueError(STATUS[status])
    if status == OUT_OF_MEMORY:
        raise MemoryError("not enough memory for a step of this size")
    raise RuntimeError("the engine belongs to the process that made it; this one is a fork")


_SIGNATURES: dict[str, tuple[type | None, tuple[type, ...]]] = {
    "turnout_abi": (ctypes.c_int32, ()),
    "turnout_create": (ctypes.c_void_p, (ctypes.c_void_p,)),
    "turnout_destroy": (None, (ctypes.c_void_p,)),
    "turnout_take": (
        ctypes.c_int32,
        (ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64),
    ),
    "turnout_take_stored": (
        ctypes.c_int32,
        (ctypes.c_void_p, *[ctypes.c_int32] * 2, *[ctypes.c_void_p] * 3, *[ctypes.c_int64] * 2),
    ),
    "turnout_rotation": (None, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
    "turnout_step": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)),
    "turnout_weight_bytes": (ctypes.c_int64, (ctypes.c_void_p,)),
    "turnout_sweep": (ctypes.c_int32, (ctypes.c_void_p, ctypes.c_void_p)),
}


def load(path: Path) -> Library:
    """Raises NativeUnavailable when the file does not load or speaks another ABI."""
    try:
        functions = ctypes.CDLL(str(path))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(functions, name)
            function.restype, function.argtypes = result, arguments
    except (OSError, AttributeError) as failed:
        raise NativeUnavailable(f"{path} does not load: {failed}") from failed
    if functions.turnout_abi() != ABI:
        raise NativeUnavailable(f"{path} has another ABI")
    return Library(functions)
