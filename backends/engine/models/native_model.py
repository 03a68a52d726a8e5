"""A language model on the native CPU kernels."""

import threading
import weakref
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from backends.engine.api import BLOCK_TOKENS, Step
from backends.engine.kernels.build import NativeUnavailable, Toolchain, built
from backends.engine.kernels.cpu import Variant, best_variant, cpu_flags, usable_cores
from backends.engine.kernels.library import PRECISIONS, Kind, Library, Shape, load
from backends.engine.layers.rotary import rotary_table
from backends.engine.spec import CodedSource, ModelSpec, TensorSource
from backends.engine.weights.held import coded
from policies.catalogue import KvPrecision, Precision

MULTIPLE = 16
"""Hidden, MLP and head sizes must be multiples of the kernels' lanes."""

MOST_ROWS = 1 << 15
"""Of one step: the kernels count the units of a phase, rows times KV heads at most, in 22 bits."""


MATRICES = frozenset({Kind.head, Kind.q, Kind.k, Kind.v, Kind.o, Kind.gate, Kind.up, Kind.down})
"""What linear layers hold, in the precision of the model."""


def available(toolchain: Toolchain | None = None) -> bool:
    """True when the kernels are built, or can be built here and load. The first call may compile, for some seconds."""
    return why_unavailable(toolchain=toolchain) is None


def available_for(spec: ModelSpec, toolchain: Toolchain | None = None) -> str | None:
    """Why this model cannot run on the kernels here; None when it can."""
    return unsupported(spec) or why_unavailable(toolchain=toolchain)


def why_unavailable(variant: Variant | None = None, toolchain: Toolchain | None = None) -> str | None:
    """Why the kernels cannot be used on this machine; None when they can."""
    try:
        _library(variant, toolchain)
    except NativeUnavailable as reason:
        return str(reason)
    return None


def unsupported(spec: ModelSpec) -> str | None:
    """What the kernels lack for this model; None when nothing."""
    if spec.sliding_window is not None and spec.sliding_window < spec.context:
        return f"attention in a sliding window of {spec.sliding_window} tokens"
    if spec.heads % spec.kv_heads:
        return f"{spec.heads} query heads do not share {spec.kv_heads} KV heads evenly"
    sizes = {"hidden": spec.hidden, "mlp": spec.mlp, "head_dim": spec.head_dim}
    odd = [f"{name} {size}" for name, size in sizes.items() if size % MULTIPLE]
    return f"{', '.join(odd)}: not a multiple of {MULTIPLE}" if odd else None


def _library(variant: Variant | None, toolchain: Toolchain | None) -> Library:
    chosen = variant or best_variant(cpu_flags())
    if chosen is None:
        raise NativeUnavailable("the CPU has neither AVX2 nor AVX-512, and without them torch is faster")
    return load(built(chosen, toolchain or Toolchain()))


class NativeModel:
    """Weights and a KV pool of `blocks` blocks in native memory; implements LanguageModel.

    `kv_precision` "native" keeps keys and values in float32 with float32 weights, in bfloat16 with all others. Logits of
    a row are the same bits in any batch, chunking and schedule, in every precision. Calls from several threads
    take turns. Raises NativeUnavailable (see `available_for`), KeyError for a missing tensor, ValueError for one
    of the wrong shape, MemoryError.
    """

    def __init__(
        self,
        spec: ModelSpec,
        source: TensorSource,
        precision: Precision,
        blocks: int,
        threads: int | None = None,
        *,
        kv_precision: KvPrecision = "native",
        variant: Variant | None = None,
        toolchain: Toolchain | None = None,
    ) -> None:
        if lack := unsupported(spec):
            raise NativeUnavailable(lack)
        if blocks < 1 or (threads is not None and threads < 1):
            raise ValueError("blocks and threads must be at least 1")
        self.vocab_size, self.context, self.blocks = spec.vocab_size, spec.context, blocks
        self.threads = threads or usable_cores()
        self._lock = threading.Lock()
        self._library = _library(variant, toolchain)
        self._handle = self._library.create(_shape(spec, precision, kv_precision, blocks, self.threads))
        # Not at exit: a thread of the engine may then still be inside a step, and the process's end frees everything.
        self._free = weakref.finalize(self, self._library.destroy, self._handle)
        self._free.atexit = False
        self._load(spec, source, coded(source, precision))

    def _load(self, spec: ModelSpec, source: TensorSource, integers: CodedSource | None) -> None:
        self._library.rotation(self._handle, *rotary_table(spec, _positions(spec, self.blocks)))
        for name, kinds, layer in _tensors(spec):
            plain = self._take_stored(integers, name, kinds, layer) if integers else kinds
            if plain:
                self._take(source.tensor(name), plain, layer)

    def _take(self, tensor: NDArray[np.float32], kinds: tuple[Kind, ...], layer: int) -> None:
        for kind in kinds:
            self._library.take(self._handle, kind, layer, tensor)

    def _take_stored(self, integers: CodedSource, name: str, kinds: tuple[Kind, ...], layer: int) -> tuple[Kind, ...]:
        """Packs what is integers already; returns the kinds that are not."""
        for kind in MATRICES.intersection(kinds):
            held = integers.codes("head" if kind is Kind.head else name)
            self._library.take_stored(self._handle, kind, layer, held)
        return tuple(kind for kind in kinds if kind not in MATRICES)

    def forward(self, step: Step) -> NDArray[np.float32]:
        """Logits (m, vocab_size) of the wanted rows. Raises ValueError for a step that does not fit."""
        fitting = _checked(step)
        logits = np.empty((len(step.logit_rows), self.vocab_size), np.float32)
        with self._lock:
            self._library.step(self._living(), fitting, logits)
        return logits

    def weight_bytes(self) -> int:
        """Bytes of packed weights that one step reads (the embedding table, of which it reads single rows, apart)."""
        with self._lock:
            return self._library.weight_bytes(self._living())

    def read_weights(self) -> None:
        """Read all weights once with all threads and do nothing else: the bound of a decode step."""
        with self._lock:
            self._library.sweep(self._living(), self.threads)

    def close(self) -> None:
        """Free the memory and end the threads, after the step in flight. Closing twice is harmless."""
        with self._lock:
            self._free()

    def _living(self) -> int:
        if not self._free.alive:
            raise ValueError("the model is closed")
        return self._handle


def _positions(spec: ModelSpec, blocks: int) -> int:
    return min(spec.context, blocks * BLOCK_TOKENS)


def _shape(spec: ModelSpec, precision: Precision, kv_precision: KvPrecision, blocks: int, threads: int) -> Shape:
    return Shape(
        layers=spec.layers,
        hidden=spec.hidden,
        heads=spec.heads,
        kv_heads=spec.kv_heads,
        head_dim=spec.head_dim,
        mlp=spec.mlp,
        vocab=spec.vocab_size,
        blocks=blocks,
        positions=_positions(spec, blocks),
        precision=PRECISIONS[precision],
        kv_int8=kv_precision == "int8",
        threads=threads,
        qkv_bias=spec.qkv_bias,
        qk_norm=spec.qk_norm,
        rms_eps=spec.rms_eps,
    )


def _tensors(spec: ModelSpec) -> Iterator[tuple[str, tuple[Kind, ...], int]]:
    """(name in the source, what it becomes, layer) of everything to load; a tied head is the embedding again."""
    yield "embed", (Kind.embed, Kind.head) if spec.tied_head else (Kind.embed,), 0
    if not spec.tied_head:
        yield "head", (Kind.head,), 0
    yield "norm", (Kind.norm,), 0
    kinds = [Kind.attn_norm, Kind.mlp_norm, Kind.q, Kind.k, Kind.v, Kind.o, Kind.gate, Kind.up, Kind.down]
    kinds += [Kind.q_bias, Kind.k_bias, Kind.v_bias] if spec.qkv_bias else []
    kinds += [Kind.q_norm, Kind.k_norm] if spec.qk_norm else []
    for layer in range(spec.layers):
        for kind in kinds:
            yield f"layers.{layer}.{kind.name}", (kind,), layer


def _checked(step: Step) -> Step:
    """The step with contiguous arrays. Raises ValueError for shapes and types that are not the border's."""
    flat = {name: getattr(step, name) for name in ("tokens", "positions", "sequence", "logit_rows")}
    arrays = {**flat, "tables": step.tables}
    if wrong := [name for name, array in arrays.items() if array.dtype != np.int32]:
        raise ValueError(f"{', '.join(wrong)} must be int32")
    if wrong := [name for name, array in flat.items() if array.ndim != 1]:
        raise ValueError(f"{', '.join(wrong)} must have one dimension")
    if step.tables.ndim != 2 or not len(step.tokens) == len(step.positions) == len(step.sequence):
        raise ValueError("tables must have two dimensions; tokens, positions and sequence one length")
    if len(step.tokens) == 0 and len(step.logit_rows):
        raise ValueError("logits wanted of a step without rows")
    if max(len(step.tokens), len(step.logit_rows)) > MOST_ROWS:
        raise ValueError(f"a step has at most {MOST_ROWS} rows")
    return Step(**{name: np.ascontiguousarray(array) for name, array in arrays.items()})
