"""The torch model against transformers, the oracle, on tiny random models of each family."""

import pytest
import torch
from saved_models import make, save
from steps_by_hand import greedy, logits_of

from backends.engine.models.torch_model import TorchModel
from backends.engine.weights.opening import open_weights

LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 10000.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}
VARIANTS = [
    ("llama", {}),
    ("llama", {"tie_word_embeddings": True}),
    ("llama", {"rope_parameters": LLAMA3}),
    ("llama", {"num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 24}),
    ("mistral", {"sliding_window": None}),
    ("mistral", {"sliding_window": 20}),
    ("qwen2", {"tie_word_embeddings": True}),
    ("qwen3", {"head_dim": 32}),
]
SCATTERED = [7, 2, 9, 4, 0, 11]
"""A block table in no order, so that nothing rests on blocks that lie in a row."""


@pytest.fixture(params=VARIANTS, ids=lambda variant: f"{variant[0]}-{'-'.join(variant[1]) or 'plain'}")
def pair(request, tmp_path):
    family, changes = request.param
    oracle = make(family, **changes)
    opened = open_weights(save(oracle, tmp_path))
    return oracle, TorchModel(opened.spec, opened.source, "float32", blocks=12, threads=1)


def test_logits_equal_those_of_transformers(pair):
    oracle, model = pair
    tokens = torch.randint(0, 256, (70,), generator=torch.Generator().manual_seed(1)).tolist()

    ours = logits_of(model, tokens, SCATTERED, cuts=[33])

    with torch.no_grad():
        theirs = oracle(torch.tensor([tokens])).logits[0].numpy()
    assert abs(ours - theirs).max() < 2e-4 * abs(theirs).max()


def test_greedy_decoding_gives_the_same_32_tokens_as_transformers(pair):
    oracle, model = pair
    prompt = list(b"a paged cache must not show")

    ours = greedy(model, prompt, 32, SCATTERED)

    theirs = list(prompt)
    with torch.no_grad():
        for _ in range(32):
            theirs.append(int(oracle(torch.tensor([theirs])).logits[0, -1].argmax()))
    assert ours == theirs[len(prompt) :]
