"""Recorded chats on a virtual clock: what drafts gain and lose in batches of any size, on a machine whose steps are noisy.

The answers are those of SmolLM2-135M-Instruct to 32 chats, half greedy, half at temperature 0.8, tokens renumbered. Decisions
see noisy times; what is compared are the true ones. To look at a sequence for drafts takes time, too.
"""

import json
from pathlib import Path
from random import Random

import numpy as np
import pytest

from backends.engine.api import Job, Step
from backends.engine.batch import Batch
from backends.engine.budget import Budget
from backends.engine.draft.costs import StepCosts
from backends.engine.draft.ngram import NgramDrafter
from backends.engine.speculate import Speculator
from backends.messages import Sampling

RECORDED = json.loads((Path(__file__).parent / "recorded_chats.json").read_text())
SHAPES = {
    "bfloat16": {1: 13.4, 2: 13.9, 3: 15.2, 4: 15.8, 6: 17.0, 8: 18.2, 9: 25.5, 12: 28.6, 16: 38.2, 24: 51.5},
    "int8": {1: 4.0, 2: 4.2, 3: 4.4, 4: 4.7, 5: 5.4, 6: 5.8, 8: 6.8, 9: 8.2, 12: 10.1, 16: 12.2, 24: 18.5},
    "even": {1: 5, 2: 5.4, 4: 6.2, 8: 7.8, 16: 11, 24: 14.2},
}
"""Milliseconds of a step by its rows: two as measured, and one that rises evenly."""
LOOK_MS = 0.02
"""To look at one sequence, as measured in cold caches."""
LEAST = 0.99


class SilentVocabulary:
    eos_ids = frozenset()

    def decoder(self):
        return self

    def push(self, token):
        return ""

    def finish(self):
        return ""

    def token_bytes(self, token):
        return b""


class Replay:
    """Says what was recorded. A chat is known by its first token, which nothing else has."""

    context, blocks = 4096, 1024

    def __init__(self, chats, shape, seed):
        self._chats = chats
        self._first = RECORDED["vocab"]
        self.vocab_size = self._first + len(chats)
        self._costs = StepCosts(shape)
        self._random = Random(seed)
        self._pool = np.zeros((self.blocks, 16), np.int32)
        self.noisy_s = self.true_s = 0.0

    def forward(self, step: Step):
        true = self._costs.seconds(len(step.tokens))
        self.true_s += true
        self.noisy_s += true * self._noise()
        self._pool[step.tables[step.sequence, step.positions // 16], step.positions % 16] = step.tokens
        logits = np.zeros((len(step.logit_rows), self.vocab_size), np.float32)
        for row, which in enumerate(step.logit_rows):
            chat = self._chats[int(self._pool[step.tables[step.sequence[which], 0], 0]) - self._first]
            at = int(step.positions[which]) + 1
            logits[row, chat[at] if at < len(chat) else 0] = 1
        return logits

    def _noise(self):
        """15 % of spread, and every tenth step is held up, to three times as long."""
        return self._random.uniform(1, 3) if self._random.random() < 0.1 else max(0.1, self._random.gauss(1, 0.15))


class Lookup(NgramDrafter):
    """Takes its time."""

    looked_ms = 0.0

    def outlook(self, sequence, at_most):
        self.looked_ms += LOOK_MS
        return super().outlook(sequence, at_most)


def tokens_per_s(pairs, shape, *, drafts, seed):
    """Of a crowd that begins together and whose slots are not filled again."""
    model = Replay([[RECORDED["vocab"] + number, *p, *a] for number, (p, a) in enumerate(pairs)], shape, seed)
    costs, lookup = StepCosts(shape) if drafts else None, Lookup()

    def clock():
        return model.noisy_s + lookup.looked_ms

    batch = Batch(
        model,
        SilentVocabulary(),
        revision="test",
        budget=Budget(),
        clock=clock,
        speculator=Speculator(lookup, 8, costs, clock) if costs else None,
        costs=costs,
    )
    for number, (prompt, answer) in enumerate(pairs):
        batch.add(number, Job((RECORDED["vocab"] + number, *prompt), Sampling(temperature=0.0), len(answer)), 0)
    while batch.under_way:
        batch.step()
    return sum(len(answer) for _, answer in pairs) / (model.true_s + lookup.looked_ms)


def gain(pairs, shape):
    """Times plain speed, the mean of two seeds of the noise."""
    plain = tokens_per_s(pairs, SHAPES[shape], drafts=False, seed=0)
    return np.mean([tokens_per_s(pairs, SHAPES[shape], drafts=True, seed=seed) for seed in (1, 2)]) / plain


def edits(many):
    """Answers that repeat their prompt, but for every twentieth token or so."""
    drawn = Random(many)

    def edited(text):
        return [drawn.randrange(RECORDED["vocab"]) if drawn.random() < 0.05 else token for token in text]

    texts = [[drawn.randrange(RECORDED["vocab"]) for _ in range(150)] for _ in range(many)]
    return [(text, edited(text)) for text in texts]


@pytest.mark.parametrize("many", [2, 8, 16])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", ["greedy", "sampled"])
def test_a_crowd_of_free_chats_is_never_slower_for_its_drafts(kind, shape, many):
    assert gain(RECORDED[kind][:many], shape) >= LEAST


@pytest.mark.parametrize("shape", SHAPES)
def test_one_greedy_chat_is_much_faster_for_its_drafts(shape):
    assert gain(RECORDED["greedy"][:1], shape) >= 1.5


@pytest.mark.parametrize(
    ("shape", "many", "least"), [("int8", 2, 1.5), ("bfloat16", 4, 1.3), ("even", 8, 1.2), ("even", 16, 1.03)]
)
def test_a_crowd_of_edits_is_faster_for_its_drafts(shape, many, least):
    assert gain(edits(many), shape) >= least


@pytest.mark.parametrize("many", [1, 3, 8, 16])
def test_where_nothing_is_ever_guessed_right_next_to_nothing_is_lost(many):
    """Not even by looking: a text of three tokens without order, where there always is something to guess."""
    drawn = Random(many)
    pairs = [([drawn.randrange(3) for _ in range(30)], [drawn.randrange(3) for _ in range(300)]) for _ in range(many)]

    assert gain(pairs, "int8") >= 0.985
