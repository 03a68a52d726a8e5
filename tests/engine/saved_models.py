"""Tiny models of each family as transformers makes and saves them: the oracle, and a directory to open."""

from pathlib import Path

import torch
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PreTrainedModel,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
)

from backends.engine.text.pieces import byte_alphabet

CLASSES = {
    "llama": (LlamaConfig, LlamaForCausalLM),
    "mistral": (MistralConfig, MistralForCausalLM),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM),
}
SIZES = {
    "vocab_size": 320,
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 257,
    "eos_token_id": 258,
}
CONTROL = ("<|pad|>", "<|im_start|>", "<|im_end|>")
CHATML = (
    "{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\n' + message['content'] + '<|im_end|>\n' }}"
    "{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\n' }}{% endif %}"
)


def make(family: str, seed: int = 0, **changes: object) -> PreTrainedModel:
    """A random model in float32 whose logits are spread enough for a clear greedy choice."""
    config_class, model_class = CLASSES[family]
    torch.manual_seed(seed)
    config = config_class(**(SIZES | changes), initializer_range=0.2, attn_implementation="eager")
    model = model_class(config).eval()
    with torch.no_grad():
        for name, values in model.named_parameters():
            if values.dim() == 1:
                values.normal_(1.0 if "norm" in name else 0.0, 0.3)
    return model


def save(model: PreTrainedModel, path: Path, shard: str = "5GB") -> Path:
    """Weights, config and a byte-level tokenizer with ChatML."""
    model.save_pretrained(path, max_shard_size=shard)
    save_tokenizer(path)
    return path


def save_tokenizer(path: Path) -> None:
    vocabulary = {character: index for index, character in enumerate(byte_alphabet())}
    backend = Tokenizer(models.BPE(vocabulary, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens([AddedToken(word, normalized=False) for word in CONTROL])
    path.mkdir(exist_ok=True)
    backend.save(str(path / "tokenizer.json"))
    (path / "chat_template.jinja").write_text(CHATML)
