"""Conformance cases of area engine on scripted models."""

import pytest
from generating import GREEDY, batch_of, job, run
from stub_models import BagModel, FixedDrafter, OracleDrafter, ScriptModel, StubVocabulary

from backends.messages import Sampling

PROMPT = (40, 41, 42)


def scripted(script, pieces, *, draft=False):
    model = ScriptModel(script, prompt=len(PROMPT))
    drafter = OracleDrafter({PROMPT: script}) if draft else None
    return batch_of(model, StubVocabulary(pieces, eos=0), drafter=drafter, max_draft=5)


@pytest.mark.parametrize("draft", [False, True])
def test_eng_01_a_stop_string_over_three_tokens_never_shows_not_even_its_start(draft):
    pieces = {1: "alpha ", 2: "be", 3: "ta ga", 4: "mma", 5: " delta"}

    [answer] = run(scripted([1, 2, 3, 4, 5], pieces, draft=draft), [job(PROMPT, 32, stop=("beta gamma",))])

    assert answer.text == "alpha "
    assert "".join(answer.pieces) == answer.text
    assert answer.end == "stop"
    assert answer.usage.completion_tokens == 4


@pytest.mark.parametrize("draft", [False, True])
@pytest.mark.parametrize(
    ("script", "max_tokens", "text", "end"),
    [([1, 2, 0], 32, "xbe", "stop"), ([1, 2, 0], 2, "xbe", "length"), ([1, 2, 3, 0], 32, "xbed", "stop")],
)
def test_eng_02_held_back_text_that_does_not_become_a_stop_is_delivered(script, max_tokens, text, end, draft):
    [answer] = run(scripted(script, {1: "x", 2: "be", 3: "d"}, draft=draft), [job(PROMPT, max_tokens, stop=("beta",))])

    assert (answer.text, answer.end) == (text, end)


@pytest.mark.parametrize("draft", [False, True])
@pytest.mark.parametrize(
    ("max_tokens", "stop", "expected"),
    [
        (5, (), ("ab", "stop", 3, 2)),
        (2, (), ("ab", "length", 2, 2)),
        (1, (), ("a", "length", 1, 1)),
        (5, ("b",), ("a", "stop", 2, 1)),
    ],
)
def test_eng_03_an_end_inside_an_accepted_draft_wins_over_the_cap_and_the_cap_holds(max_tokens, stop, expected, draft):
    pieces = {10: "a", 11: "b", 20: "x", 21: "y", 22: "z"}
    sampling = Sampling(temperature=0.0, logprobs=True)

    [answer] = run(
        scripted([10, 11, 0, 20, 21, 22], pieces, draft=draft), [job(PROMPT, max_tokens, sampling, stop=stop)]
    )

    assert (answer.text, answer.end, answer.usage.completion_tokens, len(answer.logprobs)) == expected
    assert len(answer.tokens) == answer.usage.completion_tokens


@pytest.mark.parametrize("draft", [None, FixedDrafter([1, 1, 1])])
@pytest.mark.parametrize(
    ("max_tokens", "settings", "text"),
    [
        (6, {}, "AAAAAA"),
        (6, {"presence_penalty": 1.0}, "ABCAAA"),
        (6, {"frequency_penalty": 1.0}, "ABCABC"),
        (6, {"logit_bias": {1: -100.0}}, "BBBBBB"),
        (3, {"logit_bias": {3: 1.0}}, "CCC"),
    ],
)
def test_eng_05_penalties_and_bias_act_the_same_with_drafts(max_tokens, settings, text, draft):
    vocabulary = StubVocabulary({1: "A", 2: "B", 3: "C"})
    model = BagModel({1: 2.0, 2: 1.5, 3: 1.2})

    [answer] = run(
        batch_of(model, vocabulary, drafter=draft), [job(PROMPT, max_tokens, Sampling(temperature=0.0, **settings))]
    )

    assert answer.text == text


def test_eng_11_logprobs_have_bytes_and_falling_alternatives():
    batch = scripted([1, 2, 0], {1: "Hello", 2: "!"})
    plain, with_top = run(
        batch,
        [
            job(PROMPT, 8, Sampling(temperature=0.0, logprobs=True)),
            job(PROMPT, 8, Sampling(temperature=0.0, logprobs=True, top_logprobs=2)),
        ],
    )

    assert [(entry.token, entry.data, entry.top) for entry in plain.logprobs] == [
        ("Hello", b"Hello", ()),
        ("!", b"!", ()),
    ]
    assert all(entry.logprob <= 0 for entry in plain.logprobs)
    assert [len(entry.top) for entry in with_top.logprobs] == [2, 2]
    assert all(entry.top[0].logprob >= entry.top[1].logprob for entry in with_top.logprobs)
    assert with_top.logprobs[0].top[0].token == "Hello"


@pytest.mark.parametrize(
    ("max_tokens", "text"), [(6, " Hi\U0001f600 you"), (3, " Hi\ufffd"), (8, " Hi\U0001f600 you\ufffd\ufffd")]
)
@pytest.mark.parametrize("draft", [False, True])
def test_tok_03_byte_pieces_come_out_as_whole_characters(max_tokens, text, draft):
    pieces = {1: "\u2581Hi", 2: "<0xF0>", 3: "<0x9F>", 4: "<0x98>", 5: "<0x80>", 6: "\u2581you", 7: "<0xE5>"}

    [answer] = run(scripted([1, 2, 3, 4, 5, 6, 7, 7], pieces, draft=draft), [job(PROMPT, max_tokens)])

    assert answer.text == text
    assert not any("\ufffd" in piece for piece in answer.pieces[:-1])


def test_a_stop_string_that_stands_in_what_the_end_flushes_is_found():
    pieces = {1: "ab", 2: "<0xE5>"}

    [answer] = run(scripted([1, 2, 0], pieces), [job(PROMPT, 8, GREEDY, stop=("\ufffd",))])

    assert (answer.text, answer.end) == ("ab", "stop")
