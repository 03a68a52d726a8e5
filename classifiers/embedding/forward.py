"""The forward pass of a BERT encoder for one text, in 8-bit whole numbers: what serving runs in place of the library's.

It knows weights and a tokenizer, no file and no process. encoder.py, the only one that imports it, checks what it
answers against the library before it is used.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from sentence_transformers import SentenceTransformer
from torch import Tensor, nn
from torch.nn import functional
from transformers.models.bert.modeling_bert import BertEmbeddings, BertLayer, BertModel

Pass = Callable[[str], NDArray[np.float32]]
_Linear = Callable[[Tensor], Tensor]
_MakeLinear = Callable[[nn.Linear, float], _Linear]

_PARTS = ["Transformer", "Pooling", "Normalize"]
_ROWS, _MIX, _UP, _DOWN = 0.75, 0.5, 0.75, 0.7
"""How much of an input column's spread moves into the weights, by place: into the heads, out of them, up, down."""


class NotQuickened(Exception):
    """This encoder is of a make that this forward pass does not know; the message says which."""


def quicken(model: SentenceTransformer, samples: Sequence[str]) -> Pass:
    """Text → its unit vector, float32 [width]; about a third of the library's time. The model itself is left alone.

    SmoothQuant (Xiao et al. 2023): per column of a linear layer's input, part of its spread, as seen over `samples`,
    is moved into the weights, so that one scale fits a whole row. Weights have a scale per output, inputs one per
    text. Raises NotQuickened.
    """
    spreads: list[Tensor] = []
    watched = _build(model, lambda layer, _: _watched(layer, spreads))
    for sample in samples:
        watched(sample)
    seen = iter(spreads)
    return _build(model, lambda layer, part: _whole_numbers(layer, next(seen), part))


def _bert(model: SentenceTransformer) -> BertModel:
    parts = [type(part).__name__ for part in model]
    bert = getattr(model[0], "auto_model", None)
    if parts != _PARTS or not isinstance(bert, BertModel) or getattr(model[1], "pooling_mode", "") != "mean":
        raise NotQuickened(f"{type(bert).__name__} in {' + '.join(parts)}")
    if bert.config.hidden_act != "gelu":
        raise NotQuickened(f"{type(bert).__name__} with {bert.config.hidden_act}")
    return bert


def _build(model: SentenceTransformer, make: _MakeLinear) -> Pass:
    bert = _bert(model)
    embed, heads = _embedding(bert.embeddings), bert.config.num_attention_heads
    layers = [_layer(cast(BertLayer, layer), heads, make) for layer in bert.encoder.layer]
    pieces = _pieces(model)

    def vector(text: str) -> NDArray[np.float32]:
        with torch.inference_mode():
            rows = embed(pieces(text))
            for layer in layers:
                rows = layer(rows)
            return np.asarray(functional.normalize(rows.mean(0), dim=0).numpy(), np.float32)

    return vector


def _pieces(model: SentenceTransformer) -> Callable[[str], Tensor]:
    """Word pieces without padding, cut where the library cuts."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_padding()
    tokenizer.enable_truncation(model.max_seq_length or _bert(model).config.max_position_embeddings)
    return lambda text: torch.tensor(tokenizer.encode(text).ids)


def _embedding(embeddings: BertEmbeddings) -> Callable[[Tensor], Tensor]:
    words = embeddings.word_embeddings.weight.detach()
    places = (embeddings.position_embeddings.weight + embeddings.token_type_embeddings.weight[0]).detach()
    norm = _norm(embeddings.LayerNorm)
    return lambda ids: norm(words[ids] + places[: len(ids)])


def _layer(layer: BertLayer, heads: int, make: _MakeLinear) -> Callable[[Tensor], Tensor]:
    attention = layer.attention
    into = make(_joined([attention.self.query, attention.self.key, attention.self.value]), _ROWS)
    mix, after_mix = make(attention.output.dense, _MIX), _norm(attention.output.LayerNorm)
    up, down = make(layer.intermediate.dense, _UP), make(layer.output.dense, _DOWN)
    after_down = _norm(layer.output.LayerNorm)

    def forward(rows: Tensor) -> Tensor:
        rows = after_mix(rows + mix(_attend(into(rows), heads)))
        return after_down(rows + down(functional.gelu(up(rows))))

    return forward


def _attend(joined: Tensor, heads: int) -> Tensor:
    """[n, 3 · width] → [n, width]: one text alone needs no mask."""
    queries, keys, values = joined.view(len(joined), 3, heads, -1).permute(1, 2, 0, 3)[:, None]
    mixed = functional.scaled_dot_product_attention(queries, keys, values)
    return mixed[0].transpose(0, 1).reshape(len(joined), -1)


def _norm(norm: nn.LayerNorm) -> Callable[[Tensor], Tensor]:
    weight, bias = norm.weight.detach(), norm.bias.detach()
    return lambda rows: functional.layer_norm(rows, rows.shape[-1:], weight, bias, norm.eps)


def _joined(layers: Sequence[nn.Linear]) -> nn.Linear:
    joined = nn.Linear(layers[0].in_features, sum(layer.out_features for layer in layers))
    with torch.no_grad():
        joined.weight.copy_(torch.cat([layer.weight for layer in layers]))
        joined.bias.copy_(torch.cat([layer.bias for layer in layers]))
    return joined


def _watched(layer: nn.Linear, spreads: list[Tensor]) -> _Linear:
    """The layer as it is; the entry it adds to `spreads` holds the largest magnitude seen of each input column."""
    weight, bias, place = layer.weight.detach(), layer.bias.detach(), len(spreads)
    spreads.append(torch.full((layer.in_features,), 1e-3))

    def forward(rows: Tensor) -> Tensor:
        spreads[place] = torch.maximum(spreads[place], rows.abs().amax(0))
        return functional.linear(rows, weight, bias)

    return forward


def _whole_numbers(layer: nn.Linear, spread: Tensor, part: float) -> _Linear:
    weight = layer.weight.detach()
    moved = spread**part / weight.abs().amax(0).clamp(min=1e-5) ** (1 - part)
    scaled, inverse = weight * moved, 1 / moved
    scale = scaled.abs().amax(1).clamp(min=1e-12) / 127
    packed = _packed(scaled, scale, layer.bias.detach())
    run = torch.ops.quantized.linear_dynamic
    return lambda rows: run(rows * inverse, packed, False)


def _packed(weight: Tensor, scale: Tensor, bias: Tensor) -> torch.ScriptObject:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this way of making 8-bit tensors is to go; encoder.py does without, then
        nil = torch.zeros(len(scale), dtype=torch.long)
        numbers = torch.quantize_per_channel(weight, scale, nil, 0, torch.qint8)
    packed: torch.ScriptObject = torch.ops.quantized.linear_prepack(numbers, bias)
    return packed
