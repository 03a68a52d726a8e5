"""Laws of the older Completions: read or refused by name; streamed equals whole; cut anywhere, a stream reads alike."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.heard import heard
from backends.dialects.openai_completions.forward import CompletionRelay, correct_completion, upstream_body
from backends.dialects.openai_completions.request import read_completions
from backends.dialects.openai_completions.response import Completion
from backends.dialects.openai_completions.stream import Renderer
from backends.messages import Delta, Event, Finish, TokenLogprob, Usage, Whole
from backends.sse import Decoder

PLAIN: dict[str, Any] = {"model": "m", "prompt": "hi"}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [
    "model",
    "prompt",
    "stream",
    "max_tokens",
    "n",
    "best_of",
    "echo",
    "suffix",
    "logprobs",
    "stop",
    "logit_bias",
    "x",
]
PROMPTS = (
    st.text(max_size=5)
    | st.lists(st.text(max_size=5), min_size=1, max_size=3)
    | st.lists(st.integers(0, 99), min_size=1, max_size=3)
    | st.lists(st.lists(st.integers(0, 99), min_size=1, max_size=3), min_size=1, max_size=3)
)


@given(
    st.binary(max_size=40)
    | st.dictionaries(st.sampled_from(FIELDS), JSON).map(lambda b: json.dumps({**PLAIN, **b}).encode())
)
def test_whatever_the_body_is_it_is_read_or_refused_by_name(raw: bytes) -> None:
    try:
        request = read_completions(raw)
    except RequestFault:
        return

    assert request.raw == raw
    assert request.n % len(request.messages) == 0


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        ({"suffix": "end"}, "suffix"),
        ({"prompt": []}, "prompt"),
        ({"prompt": ["a", 1]}, "prompt"),
        ({"prompt": [-1]}, "prompt"),
        ({"prompt": [[]]}, "prompt"),
        ({"prompt": None}, "prompt"),
        ({"logprobs": True}, "logprobs"),
        ({"stream_options": {"include_usage": True}}, "stream_options"),
    ],
)
def test_what_is_refused_is_refused_by_its_name(asked: dict[str, Any], param: str) -> None:
    with pytest.raises(RequestFault) as refused:
        read_completions(json.dumps({**PLAIN, **asked}).encode())

    assert refused.value.param == param


@given(PROMPTS, st.dictionaries(st.text(max_size=6).map(lambda name: f"x_{name}"), JSON, max_size=3))
def test_a_server_of_the_dialect_gets_every_field_as_it_came(prompt: Any, more: dict[str, Any]) -> None:
    asked = {**PLAIN, "prompt": prompt, **more}
    request = read_completions(json.dumps(asked).encode())

    assert json.loads(upstream_body(request, "m")) == asked
    assert json.loads(upstream_body(request, "vendor/m")) == {**asked, "model": "vendor/m"}


@given(PROMPTS, st.integers(1, 4))
def test_choices_are_counted_over_all_prompts(prompt: Any, n: int) -> None:
    request = read_completions(json.dumps({**PLAIN, "prompt": prompt, "n": n}).encode())

    many = isinstance(prompt, list) and not isinstance(prompt[0], int)
    assert len(request.messages) == (len(prompt) if many else 1)
    assert request.n == n * len(request.messages)


TOKENS = st.text(max_size=3).map(lambda text: TokenLogprob(text, text.encode(), -0.5))


@st.composite
def answers(draw: st.DrawFn) -> tuple[dict[str, Any], list[Event]]:
    """A request for several choices and an engine's events for it, mixed in any order."""
    prompts, n = draw(st.lists(st.text(max_size=3), min_size=1, max_size=2)), draw(st.integers(1, 2))
    asked: dict[str, Any] = {
        **PLAIN,
        "prompt": prompts,
        "n": n,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    kind = draw(st.sampled_from(["", "echo", "logprobs"]))
    asked |= {"echo": {"echo": True}, "logprobs": {"logprobs": 1}}.get(kind, {})
    lanes: list[list[Event]] = []
    for index in range(len(prompts) * n):
        tokens = draw(st.lists(st.lists(TOKENS, min_size=1, max_size=2), max_size=3))
        deltas = [Delta("".join(t.token for t in ts), index, tuple(ts) if kind == "logprobs" else ()) for ts in tokens]
        lanes.append([*deltas, Finish(draw(st.sampled_from(["stop", "length"])), index)])
    order = draw(st.permutations([lane for lane, events in enumerate(lanes) for _ in events]))
    return asked, [lanes[lane].pop(0) for lane in order] + [Usage(7, 3, 2)]


def chunks_of(stream: bytes) -> list[dict[str, Any]]:
    *events, done = Decoder().feed(stream)
    assert done.data == b"[DONE]"
    return [json.loads(event.data) for event in events]


def joined(chunks: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    """The choices as a client puts them together."""
    made: list[dict[str, Any]] = [
        {"index": n, "text": "", "logprobs": None, "finish_reason": None} for n in range(count)
    ]
    for chunk in chunks:
        for choice in chunk["choices"]:
            whole = made[choice["index"]]
            assert whole["finish_reason"] is None, "nothing follows a finish"
            whole["text"] += choice["text"]
            whole["finish_reason"] = choice["finish_reason"]
            if choice["logprobs"]:
                old = whole["logprobs"] or {key: [] for key in choice["logprobs"]}
                whole["logprobs"] = {key: old[key] + values for key, values in choice["logprobs"].items()}
    return made


@given(answers())
def test_an_engine_of_this_process_says_the_same_streamed_and_whole(told: tuple[dict[str, Any], list[Event]]) -> None:
    asked, events = told
    request = read_completions(json.dumps(asked).encode())
    renderer, completion = Renderer(request, "m", "cmpl-1", 0), Completion(request, "m", "cmpl-1", 0)

    stream = b"".join(map(renderer.render, events)) + renderer.end() + renderer.end()
    for event in events:
        completion.add(event)

    whole = json.loads(completion.body())
    chunks = chunks_of(stream)
    assert joined(chunks, request.n) == whole["choices"]
    assert chunks[-1]["usage"] == whole["usage"]
    for choice in whole["choices"]:
        prompt = asked["prompt"][choice["index"] // asked["n"]] if asked.get("echo") else ""
        assert choice["text"].startswith(prompt)


WORDS = st.lists(st.text(max_size=4), min_size=1, max_size=4)


def sent_by(words: list[str], end: bytes = b"\n\n") -> bytes:
    """What a server sends of one choice, with its usage and all of the rest."""
    choices = [{"index": 0, "text": word, "logprobs": None, "finish_reason": None} for word in words]
    choices[-1]["finish_reason"] = "stop"
    chunks = [
        {"id": "c", "object": "text_completion", "model": "x", "choices": [choice], "own": 1} for choice in choices
    ]
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    chunks.append({"id": "c", "object": "text_completion", "model": "x", "choices": [], "usage": usage})
    return b"".join(b"data: %b%b" % (json.dumps(chunk).encode(), end) for chunk in chunks) + b"data: [DONE]" + end


def relayed(*parts: bytes, shows_usage: bool = True) -> list[Event]:
    decoder, relay = Decoder(), CompletionRelay("m", choices=1, shows_usage=shows_usage)
    events: list[Event] = [wire for part in parts for event in decoder.feed(part) for wire in relay.push(event.data)]
    assert relay.is_whole
    return events + relay.tail()


@settings(max_examples=10)
@given(WORDS, st.booleans())
def test_a_servers_stream_cut_at_every_byte_reads_alike(words: list[str], crlf: bool) -> None:
    sent = sent_by(words, b"\r\n\r\n" if crlf else b"\n\n")

    together = relayed(sent)

    for cut in range(len(sent)):
        assert relayed(sent[:cut], sent[cut:]) == together


@given(WORDS, st.booleans())
def test_a_servers_words_pass_and_are_heard_as_they_are(words: list[str], asks_usage: bool) -> None:
    options = {"stream_options": {"include_usage": True}} if asks_usage else {}
    request = read_completions(json.dumps({**PLAIN, "stream": True, **options}).encode())
    renderer = Renderer(request, "m", "cmpl-1", 0)

    events = relayed(sent_by(words), shows_usage=asks_usage)
    chunks = chunks_of(b"".join(map(renderer.render, events)) + renderer.end())

    assert joined(chunks, 1)[0]["text"] == "".join(words)
    assert {chunk["model"] for chunk in chunks} == {"m"}
    assert all(chunk["own"] == 1 for chunk in chunks if chunk["choices"])
    assert [chunk for chunk in chunks if chunk.get("usage")] == ([chunks[-1]] if asks_usage else [])
    assert "".join(heard(event.data).text for event in events if hasattr(event, "data")) == "".join(words)


@given(st.text(max_size=4))
def test_a_whole_answer_passes_with_the_catalogues_name(text: str) -> None:
    answer = {"object": "text_completion", "model": "x", "choices": [{"index": 0, "text": text}], "own": [1.0]}

    body, usage = correct_completion(json.dumps(answer).encode(), "m")

    completion = Completion(read_completions(json.dumps(PLAIN).encode()), "m", "cmpl-1", 0)
    completion.add(Whole(body))
    assert json.loads(completion.body()) == {**answer, "model": "m"}
    assert usage is None
    assert heard(body).text == text


def test_a_choice_without_an_index_is_the_one_that_its_place_says() -> None:
    said = [{"text": word, "finish_reason": "stop"} for word in ("a", "b")]
    asked = json.dumps({"choices": said}).encode()
    told, _ = correct_completion(asked, "m")
    [wire] = CompletionRelay("m", choices=2, shows_usage=False).push(asked)
    for body in (told, wire.data):
        assert json.loads(body)["choices"] == [{**choice, "index": at} for at, choice in enumerate(said)]
