"""Bare texts that an engine goes on with, cut as their tokenizer cuts them; several at once, each as if it were alone."""

import asyncio
import json

import pytest
from generating import ENDLESS, batch_of, until
from hypothesis import given, settings
from hypothesis import strategies as st
from saved_models import CONTROL, make, save
from stub_models import PrefixModel, ScriptModel, StubVocabulary
from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

from backends.engine.loop import Engine
from backends.engine.text.detokenise import Detokeniser
from backends.engine.thread.courier import Courier
from backends.engine.upstream.local import LocalUpstream
from backends.engine.weights.opening import open_weights
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Delta, Finish, Message, Sampling, Unmapped, Usage
from backends.upstream import UpstreamCall

START = 257


def metaspace(path):
    """A tokenizer that puts a space before the first word, and a begin token before the text, as Mistral's does."""
    words = {word: n for n, word in enumerate(["▁", "a", "b", "c", "▁a", "▁b"])}
    backend = Tokenizer(models.BPE(words, [("▁", "a"), ("▁", "b")]))
    backend.pre_tokenizer = pre_tokenizers.Metaspace(prepend_scheme="first", split=False)
    backend.decoder = decoders.Metaspace(prepend_scheme="first")
    backend.add_special_tokens([AddedToken("<s>", normalized=False)])
    begin = backend.token_to_id("<s>")
    backend.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", begin)])
    backend.save(str(path / "tokenizer.json"))


@pytest.fixture(scope="module")
def both(tmp_path_factory):
    """Pairs of ours and transformers'."""

    def made(name, change):
        path = save(make("llama"), tmp_path_factory.mktemp(name) / "m")
        change(path)
        return open_weights(path).tokenizer, PreTrainedTokenizerFast(tokenizer_file=str(path / "tokenizer.json"))

    return {"byte-level": made("bytes", lambda path: None), "metaspace": made("words", metaspace)}


@settings(max_examples=60, deadline=None)
@given(kind=st.sampled_from(["byte-level", "metaspace"]), parts=st.lists(st.sampled_from("abc "), max_size=12))
def test_a_bare_text_is_cut_as_transformers_cuts_it(both, kind, parts):
    ours, theirs = both[kind]
    text = "".join(parts)

    assert ours.encode_prompt(text) == theirs(text).input_ids


@pytest.mark.parametrize("text", ["<s>ab", "<s> ab", "ab<s>", ""])
def test_tok_02_a_begin_token_is_added_once_and_the_clients_own_is_read_as_one(both, text):
    ours, theirs = both["metaspace"]

    assert ours.encode_prompt(text) == theirs(text).input_ids


def test_control_words_of_a_bare_text_are_control_tokens(both):
    ours, _ = both["byte-level"]

    ids = ours.encode_prompt(f"{CONTROL[1]}user\nhi")

    assert ids == [START, *ours.encode("user\nhi")]


@pytest.mark.parametrize(("adds", "begin"), [(True, [START]), (False, []), (None, [])])
def test_settings_may_ask_for_a_begin_token(tmp_path, adds, begin):
    path = save(make("llama"), tmp_path / "m")
    (path / "tokenizer_config.json").write_text(json.dumps({"bos_token": CONTROL[1], "add_bos_token": adds}))

    tokenizer = open_weights(path).tokenizer

    assert tokenizer.encode_prompt("hi") == [*begin, *tokenizer.encode("hi")]


def test_what_goes_on_with_a_text_keeps_its_first_space():
    decoder = Detokeniser([b" a"], strips_first_space=True)
    decoder.keep_first_space()

    assert decoder.push(0) == " a"


@pytest.fixture
async def upstream():
    made = []

    async def build(model=None, vocabulary=ENDLESS):
        courier = Courier()
        engine = Engine(lambda: batch_of(model or PrefixModel(), vocabulary), step_ended=courier.step_ended)
        made.append(LocalUpstream(engine, courier, StubVocabulary(), revision="test", window=256))
        await asyncio.to_thread(until, lambda: not engine.why_not)
        return made[-1]

    yield build
    for each in made:
        await each.aclose()


def request(*prompts, n=1, **fields):
    messages = tuple(Message(role="user", **({"text": p} if isinstance(p, str) else {"token_ids": p})) for p in prompts)
    fields.setdefault("sampling", Sampling(temperature=1.0, seed=5))
    return ChatRequest(
        raw=b"", model="m", messages=messages, n=n * len(prompts), asks="completions", max_tokens=8, **fields
    )


async def events(upstream, asked):
    call = UpstreamCall(request=asked, prepared=upstream.prepare(asked, b""))
    return [event async for event in await upstream.start(call)]


def texts_of(given, count):
    return ["".join(e.text for e in given if isinstance(e, Delta) and e.index == index) for index in range(count)]


async def test_several_prompts_are_answered_as_if_each_were_alone(upstream):
    replica = await upstream()
    prompts = ["x" * 40, "y", (5, 6, 7)]

    together = await events(replica, request(*prompts, n=2))
    alone = [await events(replica, request(prompt, n=2)) for prompt in prompts]

    assert texts_of(together, 6) == [text for given in alone for text in texts_of(given, 2)]
    assert sorted(event.index for event in together if isinstance(event, Finish)) == list(range(6))
    assert together[-1] == Usage(40 + 1 + 3, 6 * 8, together[-1].cached_tokens)


async def test_of_several_prompts_the_longest_is_measured(upstream):
    replica = await upstream()

    prepared = replica.prepare(request("a", "x" * 40, "b"), b"")

    assert (prepared.tokens, len(prepared.token_ids), [len(ids) for ids in prepared.batch]) == (40, 40, [1, 40, 1])


async def test_ids_that_the_vocabulary_lacks_are_refused(upstream):
    replica = await upstream()

    with pytest.raises(UpstreamError, match="the prompt names token 16, but the vocabulary ends at 15") as refused:
        await events(replica, request((3, 16)))

    assert refused.value.kind == "unsupported"


async def test_an_empty_text_is_refused_and_nothing_is_left_running(upstream):
    replica = await upstream()

    with pytest.raises(UpstreamError, match="The prompt is empty"):
        await events(replica, request("a", ""))

    await asyncio.to_thread(until, lambda: not replica.load().running)


async def test_what_only_another_server_can_do_is_refused_by_its_name(upstream):
    replica = await upstream(ScriptModel([1, 0], prompt=2), StubVocabulary({1: "a"}, eos=0))

    with pytest.raises(UpstreamError, match="not here") as refused:
        await events(replica, request("hi", unmapped=Unmapped("not here", "echo")))

    assert (refused.value.kind, refused.value.param) == ("unsupported", "echo")
