"""Answers held to a schema: noise becomes valid JSON, whatever the schedule, the sampling and the drafts."""

import json

import jsonschema
import msgspec
import numpy as np
import pytest
from generating import GREEDY, batch_of, job, run
from hypothesis import given, settings
from hypothesis import strategies as st
from json_vocabulary import (
    EOS,
    QUOTE_EARLY,
    SCHEMAS,
    SIZE,
    VOCABULARY,
    JsonVocabulary,
    closed,
    compiled,
    schemas,
)
from stub_models import BagModel, OracleDrafter, PrefixModel

from backends.engine.api import GrammarFault
from backends.engine.draft.model import ModelDrafter
from backends.engine.draft.ngram import NgramDrafter
from backends.engine.grammar.compile import Grammars
from backends.engine.grammar.mask import only
from backends.messages import Sampling

PROMPTS = [tuple(range(start, start + 12)) for start in (40, 60, 90, 120)]
SETTINGS = {
    "greedy": Sampling(temperature=0.0, logit_bias=QUOTE_EARLY),
    "sampled": Sampling(temperature=0.9, seed=11, logit_bias=QUOTE_EARLY),
    "nucleus": Sampling(temperature=1.3, seed=5, top_p=0.7, top_k=20, min_p=0.05, logit_bias=QUOTE_EARLY),
    "penalties": Sampling(
        temperature=0.0, presence_penalty=0.6, frequency_penalty=0.3, repetition_penalty=1.2, logit_bias=QUOTE_EARLY
    ),
    "logprobs": Sampling(temperature=0.7, seed=3, logprobs=True, top_logprobs=2, logit_bias=QUOTE_EARLY),
}


def noise(blocks=256):
    return PrefixModel(blocks=blocks, vocab_size=SIZE)


def held(schema, prompt=PROMPTS[0], sampling=SETTINGS["greedy"], max_tokens=900, **fields):
    return job(prompt, max_tokens, sampling, grammar=compiled(schema), **fields)


def answer_to(schema, **fields):
    [answer] = run(batch_of(noise(), VOCABULARY), [held(schema, **fields)])
    return answer


def told(answers):
    return [(each.text, each.tokens, each.end, each.logprobs) for each in answers]


def validate(text, schema):
    jsonschema.Draft202012Validator(schema).validate(json.loads(text))


@pytest.mark.parametrize("how", SETTINGS)
@pytest.mark.parametrize("name", SCHEMAS)
def test_noise_held_to_a_schema_is_an_instance_of_it(name, how):
    answer = answer_to(SCHEMAS[name], sampling=SETTINGS[how])

    assert answer.end == "stop"
    validate(answer.text, SCHEMAS[name])


@settings(deadline=None, max_examples=40)
@given(schema=schemas, seed=st.integers(0, 2**32), temperature=st.sampled_from([0.0, 0.7, 1.5]))
def test_whatever_the_schema_and_the_draw_the_answer_is_an_instance(schema, seed, temperature):
    answer = answer_to(schema, sampling=Sampling(temperature=temperature, seed=seed, logit_bias=QUOTE_EARLY))

    assert answer.end == "stop"
    validate(answer.text, schema)


def test_without_a_grammar_the_same_noise_is_no_json():
    [answer] = run(batch_of(noise(), VOCABULARY), [job(PROMPTS[0], 100, SETTINGS["greedy"])])

    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(answer.text)


class Unlike(PrefixModel):
    """A draft model that thinks otherwise at every third position."""

    def forward(self, step):
        logits = super().forward(step)
        wrong = step.positions[step.logit_rows] % 3 == 0
        logits[wrong] = logits[wrong][:, ::-1]
        return logits


@pytest.mark.parametrize("k", [1, 6])
@pytest.mark.parametrize("kind", ["ngram", "right", "wrong", "itself", "unlike"])
@pytest.mark.parametrize("how", SETTINGS)
def test_speculative_equals_plain_under_a_grammar_alone_and_in_a_crowd(how, kind, k):
    jobs = [
        held(SCHEMAS[name], prompt, SETTINGS[how], 120)
        for prompt, name in zip(PROMPTS, ("flat", "list", "union", "tree"), strict=True)
    ]
    plain = [run(batch_of(noise(), VOCABULARY), [each])[0] for each in jobs]
    known = {each.prompt: answer.tokens for each, answer in zip(jobs, plain, strict=True)}

    def drafter():
        match kind:
            case "ngram":
                return NgramDrafter()
            case "itself":
                return ModelDrafter(noise(), SIZE, lambda: 0.0)
            case "unlike":
                return ModelDrafter(Unlike(blocks=256, vocab_size=SIZE), SIZE, lambda: 0.0)
            case _:
                return OracleDrafter(known, lies=kind == "wrong")

    lone = [run(batch_of(noise(), VOCABULARY, drafter=drafter(), max_draft=k), [each])[0] for each in jobs]
    crowded = batch_of(noise(blocks=12), VOCABULARY, drafter=drafter(), max_draft=k)

    assert told(lone) == told(plain)
    assert told(run(crowded, jobs)) == told(plain)
    if kind == "wrong":
        assert crowded.speculator.accepted == 0
    if kind in ("right", "itself"):
        assert crowded.speculator.accepted > 0
        assert crowded.speculator.proposed - crowded.speculator.accepted <= k * len(jobs), "only behind an end"
    if kind == "unlike":
        assert 0 < crowded.speculator.accepted < crowded.speculator.proposed


def test_a_draft_that_the_grammar_forbids_is_not_accepted():
    likes_to_end = BagModel({EOS: 5.0, ord("7"): 1.0}, vocab_size=SIZE)
    drafter = OracleDrafter({PROMPTS[0]: [EOS] * 8})
    schema = {"type": "integer", "minimum": 100, "maximum": 999}

    batch = batch_of(likes_to_end, VOCABULARY, drafter=drafter)
    [answer] = run(batch, [held(schema, sampling=GREEDY)])

    assert (answer.text, answer.end) == ("777", "stop")
    assert answer.tokens[-1] == EOS


def test_preempted_answers_find_their_place_in_the_grammar_again():
    jobs = [held(SCHEMAS["flat"], tuple(range(start, start + 30)), max_tokens=60) for start in range(0, 60, 10)]
    squeezed = batch_of(noise(blocks=9), VOCABULARY)

    answers = run(squeezed, jobs)

    assert squeezed.scheduler.preemptions > 0
    assert told(answers) == told(run(batch_of(noise(), VOCABULARY), [each])[0] for each in jobs)


def test_a_job_without_a_grammar_is_not_touched_by_those_beside_it():
    free = job(PROMPTS[1], 60, Sampling(temperature=0.8, seed=1))
    [alone] = run(batch_of(noise(), VOCABULARY), [free])

    beside, _ = run(batch_of(noise(), VOCABULARY), [free, held(SCHEMAS["flat"])])

    assert told([beside]) == told([alone])


def test_the_cap_inside_the_json_is_told_as_length():
    whole = answer_to(SCHEMAS["flat"])

    cut = answer_to(SCHEMAS["flat"], max_tokens=7)

    assert (cut.end, cut.tokens) == ("length", whole.tokens[:7])
    assert whole.text.startswith(cut.text)


def test_a_stop_string_cuts_json_as_it_cuts_text():
    cut = answer_to(SCHEMAS["flat"], stop=('"age"',))

    assert cut.end == "stop"
    assert cut.text.startswith("{")
    assert '"age"' not in cut.text


def test_a_model_that_wants_to_end_at_once_writes_the_smallest_instance_first():
    eager = BagModel({EOS: 9.0, ord("}"): 5.0, ord("4"): 1.0}, vocab_size=SIZE)

    [answer] = run(batch_of(eager, VOCABULARY), [held(closed(n={"type": "integer"}), sampling=GREEDY)])

    assert answer.end == "stop"
    assert json.loads(answer.text) == {"n": 4}


def test_an_answer_that_is_complete_ends_even_if_the_client_forbids_the_end():
    never = Sampling(temperature=0.0, logit_bias={EOS: -100.0})

    answer = answer_to({"const": ["a", 1]}, sampling=never)

    assert (json.loads(answer.text), answer.end) == (["a", 1], "stop")


def test_a_bias_towards_what_the_grammar_forbids_changes_nothing():
    bait = Sampling(temperature=0.0, logit_bias={ord("x"): 100.0, 301: 100.0, 310: 100.0})

    answer = answer_to({"enum": ["yes", "no"]}, sampling=bait)

    assert json.loads(answer.text) in ("yes", "no")


def test_log_probabilities_stay_the_models_own():
    answer = answer_to({"const": "a"}, sampling=Sampling(temperature=0.0, logprobs=True))

    assert all(entry.logprob < -2 for entry in answer.logprobs), "noise over 320 tokens is sure of nothing"


@pytest.mark.parametrize("adds_space", [True, False])
def test_a_tokenizer_that_puts_a_space_before_a_text_is_held_as_well(adds_space):
    vocabulary = JsonVocabulary(adds_space=adds_space)
    grammar = compiled(SCHEMAS["nested"], Grammars(vocabulary, SIZE))

    [answer] = run(batch_of(noise(), vocabulary), [job(PROMPTS[2], 300, SETTINGS["greedy"], grammar=grammar)])

    assert answer.end == "stop"
    validate(answer.text, SCHEMAS["nested"])


class Breaks:
    """A grammar that cannot be followed beyond its second token."""

    def __init__(self, left=2):
        self.left = left

    def begin(self):
        return Breaks()

    def allowed(self):
        if not self.left:
            raise GrammarFault("too many cases")
        return np.full(SIZE // 8, 255, np.uint8)

    def accept(self, token):
        self.left -= 1


def test_a_grammar_that_fails_on_the_way_ends_its_own_job_as_the_requests_fault():
    broken, sound = job(PROMPTS[0], 50, grammar=Breaks()), held(SCHEMAS["flat"], PROMPTS[1])

    first, second = run(batch_of(noise(), VOCABULARY), [broken, sound])

    assert (first.end, first.error, len(first.tokens)) == ("error", "too many cases", 2)
    assert second.end == "stop"


@given(st.lists(st.tuples(st.floats(-99, 99, width=32), st.booleans()), min_size=1, max_size=70))
def test_a_mask_lets_through_exactly_its_bits(row):
    logits = np.array([logit for logit, _ in row], np.float32)
    before = logits.copy()

    masked = only(logits, np.packbits([*(bit for _, bit in row), *[True] * (-len(row) % 32)], bitorder="little"))

    assert masked.tolist() == [logit if bit else -np.inf for logit, bit in row]
    assert (logits == before).all()
