"""A GGUF file as weights: metadata → spec, tensors dequantised one at a time, the file mapped while one is read."""

from dataclasses import replace
from math import prod
from pathlib import Path
from typing import Final

import numpy as np
from gguf import quants
from numpy.typing import NDArray

from backends.engine.layers.rotary import divisors, frequencies
from backends.engine.spec import Family, ModelSpec, RopeScaling
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.fields import Fields
from backends.engine.weights.finite import finite
from backends.engine.weights.gguf_header import Header, read_header
from backends.engine.weights.limits import CONTEXT, HEADS, LAYERS, VOCABULARY, WIDTH, check_spec
from backends.engine.weights.mapped import MappedFile
from backends.engine.weights.shapes import Shape, check_shapes

_FAMILIES: Final[dict[str, Family]] = {"llama": "llama", "qwen2": "qwen2", "qwen3": "qwen3"}
_PIECE = 1 << 14
_OUTER = {"token_embd.weight": "embed", "output_norm.weight": "norm", "output.weight": "head"}
_INNER = {
    "attn_norm.weight": "attn_norm", "ffn_norm.weight": "mlp_norm",
    "attn_q.weight": "q", "attn_k.weight": "k", "attn_v.weight": "v", "attn_output.weight": "o",
    "attn_q.bias": "q_bias", "attn_k.bias": "k_bias", "attn_v.bias": "v_bias",
    "attn_q_norm.weight": "q_norm", "attn_k_norm.weight": "k_norm",
    "ffn_gate.weight": "gate", "ffn_up.weight": "up", "ffn_down.weight": "down",
}  # fmt: skip


class GgufFile:
    """The file's weights. `spec` is checked against the tensors that are there."""

    def __init__(self, path: Path) -> None:
        """Raises WeightsError when the file is damaged or its architecture is not supported."""
        self.path = path
        self.file = MappedFile(path)
        self.header = read_header(self.file.view(0, self.file.size).data, path.name)
        self.places = _places(self.header)
        self.spec = read_spec(self.header, path.name)
        if "rope_freqs.weight" in self.header.tensors:
            self.spec = _with_scaling(self.spec, self._values("rope_freqs.weight"), path.name)
        check_shapes(self.spec, self.shapes(), path.name)

    def shapes(self) -> dict[str, Shape]:
        return {name: self.header.tensors[own].shape for name, own in self.places.items()}

    def tensor(self, name: str) -> NDArray[np.float32]:
        """The tensor as contiguous float32, rotary pairs in the Hugging Face order. Raises KeyError, WeightsError."""
        whole = finite(self._values(self.places[name]), name, self.path.name)
        heads = self._rotary_heads(name)
        return halves_first(whole, heads) if heads else whole

    def kinds(self) -> set[str]:
        """The kinds of numbers that the file holds."""
        return {entry.kind.name for entry in self.header.tensors.values()}

    def _values(self, own: str) -> NDArray[np.float32]:
        """One tensor by the file's own name."""
        entry = self.header.tensors[own]
        raw = self.file.view(entry.start, entry.size)
        values = quants.dequantize(raw.reshape(_pieces(entry.shape), -1), entry.kind)
        own_copy = values if values.flags.writeable else values.copy()
        return np.ascontiguousarray(own_copy, np.float32).reshape(entry.shape)

    def _rotary_heads(self, name: str) -> int:
        """Heads of a tensor whose rotary pairs the file interleaves, else 0. Only the llama architecture does."""
        if self.spec.family != "llama":
            return 0
        return {"q": self.spec.heads, "k": self.spec.kv_heads}.get(name.rpartition(".")[2], 0)


def _pieces(shape: Shape) -> int:
    """Rows that a tensor is dequantised as. The library takes 16 at a time, and spends most of the time between them if they
    are short: several of the tensor's rows are one, of up to `_PIECE` values."""
    rows = prod(shape[:-1])
    together = max(1, _PIECE // max(1, shape[-1]))
    return rows // next(count for count in range(min(together, rows), 0, -1) if rows % count == 0)


def halves_first(weight: NDArray[np.float32], heads: int) -> NDArray[np.float32]:
    """Rows (pair, side) of each head → rows (side, pair): undoes the exchange that llama.cpp's converter made."""
    rows = weight.shape[0]
    pairs = weight.reshape(heads, rows // heads // 2, 2, *weight.shape[1:])
    return np.ascontiguousarray(pairs.swapaxes(1, 2)).reshape(weight.shape)


def _places(header: Header) -> dict[str, str]:
    """Canonical name → the file's own."""
    places = {}
    for own in header.tensors:
        if own in _OUTER:
            places[_OUTER[own]] = own
        elif own.startswith("blk."):
            layer, _, rest = own[4:].partition(".")
            if rest in _INNER:
                places[f"layers.{layer}.{_INNER[rest]}"] = own
    return places


def read_spec(header: Header, origin: str) -> ModelSpec:
    """Metadata → spec. Raises WeightsError, naming the architecture when it is not supported."""
    architecture = str(header.metadata.get("general.architecture"))
    if architecture not in _FAMILIES:
        raise WeightsError(f"{origin}: the architecture {architecture} is not supported; {', '.join(_FAMILIES)} are")
    prefix = architecture + "."
    own = {key.removeprefix(prefix): value for key, value in header.metadata.items() if key.startswith(prefix)}
    if header.metadata.get("split.count", 1) not in (0, 1):
        raise WeightsError(f"{origin}: one part of a split GGUF; join the parts with gguf-split --merge")
    spec = _sizes(_FAMILIES[architecture], Fields(own, origin), header)
    kind = own.get("rope.scaling.type", "none")
    if kind not in ("none", "llama3"):
        raise WeightsError(f"{origin}: rope scaling {kind!r} is not supported; none and llama3 are")
    return check_spec(spec, origin)


def _sizes(family: Family, own: Fields, header: Header) -> ModelSpec:
    hidden = own.whole("embedding_length", 1, WIDTH)
    heads = own.whole("attention.head_count", 1, HEADS)
    head_dim = own.whole("attention.key_length", 2, WIDTH, hidden // heads or 2)
    if own.whole("rope.dimension_count", 1, WIDTH, head_dim) != head_dim:
        raise WeightsError(f"{own.origin}: rotary positions over a part of each head are not supported")
    tokens = Fields(header.metadata, own.origin)
    window = own.whole("attention.sliding_window", 0, CONTEXT, 0)
    bos = tokens.ids("tokenizer.ggml.bos_token_id")
    return ModelSpec(
        family=family,
        layers=own.whole("block_count", 1, LAYERS),
        hidden=hidden,
        heads=heads,
        kv_heads=own.whole("attention.head_count_kv", 1, HEADS, heads),
        head_dim=head_dim,
        mlp=own.whole("feed_forward_length", 1, WIDTH * 8),
        vocab_size=_vocabulary(header, own),
        context=own.whole("context_length", 1, CONTEXT),
        rope_theta=own.real("rope.freq_base", 1.0, 1e12, 10000.0),
        rms_eps=own.real("attention.layer_norm_rms_epsilon", 0.0, 1.0),
        tied_head="output.weight" not in header.tensors,
        qkv_bias="blk.0.attn_q.bias" in header.tensors,
        qk_norm="blk.0.attn_q_norm.weight" in header.tensors,
        sliding_window=window or None,
        eos_ids=_end_ids(tokens),
        bos_id=bos[0] if bos else None,
    )


def _end_ids(tokens: Fields) -> tuple[int, ...]:
    found = [i for key in ("eos", "eot", "eom") for i in tokens.ids(f"tokenizer.ggml.{key}_token_id")]
    return tuple(dict.fromkeys(found))


def _vocabulary(header: Header, own: Fields) -> int:
    embed = header.tensors.get("token_embd.weight")
    if embed is None or not 1 <= embed.shape[0] <= VOCABULARY:
        raise WeightsError(f"{own.origin}: the tensor token_embd.weight is missing or too tall")
    return embed.shape[0]


def _with_scaling(spec: ModelSpec, found: NDArray[np.float32], origin: str) -> ModelSpec:
    """Llama 3's scaling comes as a tensor of divisors; it is taken when the published formula gives the same ones.

    Every Llama 3.x release uses the low and high factors 1 and 4 over 8192 positions; only the factor differs.
    """
    scaling = RopeScaling(float(found.max()), 1.0, 4.0, 8192)
    ours = divisors(frequencies(spec), scaling)
    if found.shape != ours.shape or not np.allclose(found, ours, rtol=1e-3):
        raise WeightsError(f"{origin}: rope_freqs.weight is not Llama 3's published scaling, and no other is supported")
    return replace(spec, rope_scaling=scaling)
