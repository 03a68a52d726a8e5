"""config.json → spec. Variants that would run and be wrong are refused."""

import json
from pathlib import Path
from typing import Final

from backends.engine.spec import Family, ModelSpec, RopeScaling
from backends.engine.weights.codes import GROUP
from backends.engine.weights.faults import WeightsError
from backends.engine.weights.fields import Fields
from backends.engine.weights.limits import CONTEXT, HEADS, JSON_BYTES, LAYERS, VOCABULARY, WIDTH, check_spec
from policies.catalogue import Precision

ARCHITECTURES: Final[dict[str, Family]] = {
    "LlamaForCausalLM": "llama",
    "MistralForCausalLM": "mistral",
    "Qwen2ForCausalLM": "qwen2",
    "Qwen3ForCausalLM": "qwen3",
}
METHOD = "turnout"
"""`quant_method` of directories that `turnout models quantise` wrote; their `precision` stands beside it."""

VERSION = 1


def read_json(path: Path) -> Fields:
    """A JSON object from a file of bounded size. Raises WeightsError."""
    if not path.is_file():
        raise WeightsError(f"{path.parent.name}: {path.name} is missing")
    try:
        if path.stat().st_size > JSON_BYTES:
            raise WeightsError(f"{path.name}: larger than {JSON_BYTES >> 20} MiB")
        values = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError) as fault:
        raise WeightsError(f"{path.name}: no readable JSON ({fault})") from fault
    if not isinstance(values, dict):
        raise WeightsError(f"{path.name}: a JSON object is needed")
    return Fields(values, path.name)


def written(spec: ModelSpec) -> dict[str, object]:
    """The config.json that says this spec, for weights that came without one."""
    architecture = "MistralForCausalLM" if spec.sliding_window else _architecture(spec.family)
    config: dict[str, object] = {
        "architectures": [architecture],
        "model_type": ARCHITECTURES[architecture],
        "hidden_act": "silu",
        "num_hidden_layers": spec.layers,
        "hidden_size": spec.hidden,
        "num_attention_heads": spec.heads,
        "num_key_value_heads": spec.kv_heads,
        "head_dim": spec.head_dim,
        "intermediate_size": spec.mlp,
        "vocab_size": spec.vocab_size,
        "max_position_embeddings": spec.context,
        "rope_theta": spec.rope_theta,
        "rms_norm_eps": spec.rms_eps,
        "bos_token_id": spec.bos_id,
        "eos_token_id": list(spec.eos_ids),
    }
    if spec.rope_scaling:
        config["rope_scaling"] = {"rope_type": "llama3", "rope_theta": spec.rope_theta, **_scaling(spec.rope_scaling)}
    return config | ({"sliding_window": spec.sliding_window} if spec.sliding_window else {})


def _architecture(family: Family) -> str:
    return next(name for name, own in ARCHITECTURES.items() if own == family)


def _scaling(scaling: RopeScaling) -> dict[str, float]:
    return {
        "factor": scaling.factor,
        "low_freq_factor": scaling.low_freq_factor,
        "high_freq_factor": scaling.high_freq_factor,
        "original_max_position_embeddings": scaling.original_context,
    }


def _family(config: Fields) -> Family:
    named = config.values.get("architectures")
    architecture = (
        str(named[0]) if isinstance(named, list) and named else f"model_type {config.values.get('model_type')}"
    )
    if architecture not in ARCHITECTURES:
        raise WeightsError(f"{config.origin}: {architecture} is not supported; {', '.join(ARCHITECTURES)} are")
    return ARCHITECTURES[architecture]


def read_config(directory: Path) -> Fields:
    """Raises WeightsError; an architecture that is not supported is named."""
    config = read_json(directory / "config.json")
    _family(config)
    return config


def coded_precision(config: Fields) -> Precision | None:
    """The precision of weights that are integers already; None of plain ones. Raises WeightsError for others' integers."""
    marker = config.inner("quantization_config")
    if marker is None:
        return None
    if marker.values.get("quant_method") != METHOD:
        raise WeightsError(
            f"{config.origin}: weights quantised in advance are not supported; give the plain ones or a GGUF"
        )
    precision = marker.values.get("precision")
    if precision not in ("int8", "int4") or marker.values.get("version") != VERSION:
        raise WeightsError(f"{config.origin}: weights of another version of Turnout; quantise them again")
    if marker.values.get("group") != GROUP:
        raise WeightsError(f"{config.origin}: groups of {marker.values.get('group')!r}; groups of {GROUP} are read")
    return precision


def read_spec(directory: Path, config: Fields, has_head: bool) -> ModelSpec:
    """`has_head`: whether the files hold a head of its own. Raises WeightsError."""
    spec = _spec(_family(config), config, _end_ids(directory, config), has_head)
    return check_spec(spec, config.origin)


def _spec(family: Family, config: Fields, eos_ids: tuple[int, ...], has_head: bool) -> ModelSpec:
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
        tied_head=config.flag("tie_word_embeddings", False) or not has_head,
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
