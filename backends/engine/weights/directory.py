"""A Hugging Face directory as weights: config.json → spec, safetensors by canonical name."""

import json
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from backends.engine.spec import Family, ModelSpec, RopeScaling
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.fields import Fields
from backends.engine.weights.limits import CONTEXT, HEADS, JSON_BYTES, LAYERS, VOCABULARY, WIDTH, check_spec
from backends.engine.weights.safetensors_files import SafetensorsFiles
from backends.engine.weights.shapes import Shape, check_shapes

_FAMILIES: Final[dict[str, Family]] = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
}
_OUTER = {"model.embed_tokens.weight": "embed", "model.norm.weight": "norm", "lm_head.weight": "head"}
_INNER = {
    "input_layernorm.weight": "attn_norm", "post_attention_layernorm.weight": "mlp_norm",
    "self_attn.q_proj.weight": "q", "self_attn.k_proj.weight": "k", "self_attn.v_proj.weight": "v",
    "self_attn.q_proj.bias": "q_bias", "self_attn.k_proj.bias": "k_bias", "self_attn.v_proj.bias": "v_bias",
    "self_attn.q_norm.weight": "q_norm", "self_attn.k_norm.weight": "k_norm", "self_attn.o_proj.weight": "o",
    "mlp.gate_proj.weight": "gate", "mlp.up_proj.weight": "up", "mlp.down_proj.weight": "down",
}  # fmt: skip
_LAYER = "model.layers."


class Directory:
    """The directory's weights. `spec` is checked against the tensors that are there."""

    def __init__(self, path: Path) -> None:
        """Raises WeightsError; an architecture that is not supported is named before any weights are opened."""
        self.path = path
        config = read_json(path / "config.json")
        family = _family(config)
        self.files = SafetensorsFiles(path)
        self.places = {canonical: own for own in self.files.shapes() if (canonical := _canonical(own))}
        self.spec = check_spec(_spec(family, config, _end_ids(path, config), self.places), "config.json")
        check_shapes(self.spec, self.shapes(), path.name)

    def shapes(self) -> dict[str, Shape]:
        own = self.files.shapes()
        return {canonical: own[name] for canonical, name in self.places.items()}

    def tensor(self, name: str) -> NDArray[np.float32]:
        """The tensor as contiguous float32. Raises KeyError."""
        return self.files.tensor(self.places[name])


def read_json(path: Path) -> Fields:
    """A JSON object from a file of bounded size. Raises WeightsError."""
    try:
        if path.stat().st_size > JSON_BYTES:
            raise WeightsError(f"{path.name}: larger than {JSON_BYTES >> 20} MiB")
        values = json.loads(path.read_bytes())
    except FileNotFoundError as fault:
        raise WeightsError(f"{path.parent.name}: {path.name} is missing") from fault
    except (OSError, ValueError, RecursionError) as fault:
        raise WeightsError(f"{path.name}: no readable JSON ({fault})") from fault
    if not isinstance(values, dict):
        raise WeightsError(f"{path.name}: a JSON object is needed")
    return Fields(values, path.name)


def _family(config: Fields) -> Family:
    named = config.values.get("architectures")
    architecture = (
        str(named[0]) if isinstance(named, list) and named else f"model_type {config.values.get('model_type')}"
    )
    if architecture not in _FAMILIES:
        raise WeightsError(f"{config.origin}: {architecture} is not supported; {', '.join(_FAMILIES)} are")
    return _FAMILIES[architecture]


def _canonical(own: str) -> str | None:
    if own in _OUTER:
        return _OUTER[own]
    layer, _, rest = own.removeprefix(_LAYER).partition(".")
    return f"layers.{layer}.{_INNER[rest]}" if own.startswith(_LAYER) and rest in _INNER else None


def _spec(family: Family, config: Fields, eos_ids: tuple[int, ...], places: dict[str, str]) -> ModelSpec:
    _refuse_variants(config)
    hidden, heads = config.whole("hidden_size", 1, WIDTH), config.whole("num_attention_heads", 1, HEADS)
    theta, scaling = _rope(config)
    bos = config.ids("bos_token_id")
    return ModelSpec(
        family=family,
        layers=config.whole("num_hidden_layers", 1, LAYERS),
        hidden=hidden,
        heads=heads,
        kv_heads=config.whole("num_key_value_heads", 1, HEADS, heads),
        head_dim=config.whole("head_dim", 2, WIDTH, hidden // heads or 2),
        mlp=config.whole("intermediate_size", 1, WIDTH * 8),
        vocab_size=config.whole("vocab_size", 1, VOCABULARY),
        context=config.whole("max_position_embeddings", 1, CONTEXT),
        rope_theta=theta,
        rms_eps=config.real("rms_norm_eps", 0.0, 1.0, 1e-6),
        tied_head=config.flag("tie_word_embeddings", False) or "head" not in places,
        qkv_bias=family == "qwen2",
        qk_norm=family == "qwen3",
        rope_scaling=scaling,
        sliding_window=_window(family, config),
        eos_ids=eos_ids,
        bos_id=bos[0] if bos else None,
    )


def _refuse_variants(config: Fields) -> None:
    """Switches that these families' published weights leave off, and that would change the mathematics."""
    if config.values.get("hidden_act", "silu") != "silu":
        raise WeightsError(f"{config.origin}: hidden_act {config.values['hidden_act']!r} is not supported; silu is")
    for switch in ("attention_bias", "mlp_bias"):
        if config.flag(switch, False):
            raise WeightsError(f"{config.origin}: {switch} is not supported")
    if config.has("quantization_config"):
        raise WeightsError(
            f"{config.origin}: weights quantised in advance are not supported; give the plain ones or a GGUF"
        )


def _window(family: Family, config: Fields) -> int | None:
    """Mistral slides wherever the number is set; Qwen only where it says so, and then not in every layer."""
    if family in ("qwen2", "qwen3") and config.flag("use_sliding_window", False):
        raise WeightsError(f"{config.origin}: a sliding window in some layers only is not supported")
    if family != "mistral" or not config.has("sliding_window"):
        return None
    return config.whole("sliding_window", 1, CONTEXT)


def _rope(config: Fields) -> tuple[float, RopeScaling | None]:
    """Base and scaling, from `rope_parameters` or from the older pair `rope_theta` and `rope_scaling`."""
    rope = config.inner("rope_parameters") or config.inner("rope_scaling") or Fields({}, config.origin)
    theta = rope.real("rope_theta", 1.0, 1e12, config.real("rope_theta", 1.0, 1e12, 10000.0))
    kind = rope.values.get("rope_type", rope.values.get("type", "default"))
    if rope.real("partial_rotary_factor", 0.0, 1.0, config.real("partial_rotary_factor", 0.0, 1.0, 1.0)) != 1.0:
        raise WeightsError(f"{config.origin}: rotary positions over a part of each head are not supported")
    if kind not in ("default", "llama3"):
        raise WeightsError(f"{config.origin}: rope scaling {kind!r} is not supported; default and llama3 are")
    return theta, _llama3(rope) if kind == "llama3" else None


def _llama3(rope: Fields) -> RopeScaling:
    low = rope.real("low_freq_factor", 1e-3, 1e6)
    return RopeScaling(
        factor=rope.real("factor", 1.0, 1e6),
        low_freq_factor=low,
        high_freq_factor=rope.real("high_freq_factor", low + 1e-3, 1e6),
        original_context=rope.whole("original_max_position_embeddings", 1, CONTEXT),
    )


def _end_ids(path: Path, config: Fields) -> tuple[int, ...]:
    """generation_config.json names the ends of a turn that config.json often leaves out."""
    generation = path / "generation_config.json"
    named = read_json(generation).ids("eos_token_id") if generation.is_file() else ()
    return tuple(dict.fromkeys((*named, *config.ids("eos_token_id"))))
