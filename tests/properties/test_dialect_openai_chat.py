"""Laws of the Chat Completions dialect: hostile bodies, unknown fields, streams cut anywhere, streams put right."""

import json
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.forward import Habits, upstream_body
from backends.dialects.openai_chat.relay import ChunkError, Relay
from backends.dialects.openai_chat.reported import ReportedError, read_usage
from backends.dialects.openai_chat.request import read_chat
from backends.dialects.openai_chat.stream import Renderer
from backends.dialects.openai_chat.whole import AnswerError, Around, WholeReader
from backends.messages import Delta, Finish, Wire
from backends.sse import Decoder

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KNOWN = ["model", "messages", "stream", "stream_options", "max_tokens", "n", "stop", "temperature", "seed", "tools"]
KNOWN += ["logit_bias", "top_logprobs", "response_format", "role", "content", "type", "text", "tool_calls", "function"]
BODIES = st.dictionaries(st.sampled_from(KNOWN), JSON | st.lists(st.dictionaries(st.sampled_from(KNOWN), JSON)))
PLAIN = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


@given(st.binary(max_size=40) | BODIES.map(lambda body: json.dumps({**PLAIN, **body}).encode()))
def test_whatever_the_body_is_it_is_read_or_refused_by_name(raw: bytes) -> None:
    try:
        request = read_chat(raw)
    except RequestFault:
        return
    assert request.messages
    assert msgspec.json.decode(upstream_body(request, "other", Habits()))["model"] == "other"


@given(st.dictionaries(st.text(max_size=6).map(lambda key: f"x_{key}"), JSON, max_size=4), st.booleans())
def test_fields_that_nobody_knows_go_upstream_as_they_came(unknown: dict[str, Any], stream: bool) -> None:
    raw = json.dumps({**PLAIN, **unknown, "stream": stream}).encode()

    sent = json.loads(upstream_body(read_chat(raw), "m", Habits()))

    asked = {"stream_options": {"include_usage": True}} if stream else {}
    assert sent == {**PLAIN, **unknown, "stream": stream, **asked}


COUNTS = st.integers() | st.integers(0, 9)


@given(COUNTS, COUNTS, COUNTS)
def test_usage_is_counts_that_the_books_can_carry_or_none(prompt: int, completion: int, cached: int) -> None:
    told = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "prompt_tokens_details": {"cached_tokens": cached},
    }

    usage = read_usage(json.dumps(told).encode())

    if usage is not None:
        assert 0 <= usage.cached_tokens <= usage.prompt_tokens < 1 << 63
        assert 0 <= usage.completion_tokens < 1 << 63


TEXTS = st.lists(st.tuples(st.integers(0, 2), st.text(min_size=1, max_size=6)), max_size=12)


@given(TEXTS, st.booleans())
def test_what_is_rendered_is_read_back_with_one_role_and_one_finish_for_each_choice(
    texts: list[tuple[int, str]], shows_usage: bool
) -> None:
    request = read_chat(json.dumps({**PLAIN, "n": 3, "stream": True}).encode())
    renderer = Renderer(request, "m", "chatcmpl-1", 1)

    stream = b"".join(renderer.render(Delta(text, index)) for index, text in texts)
    stream += b"".join(renderer.render(Finish("stop", index)) for index in (2, 0, 1)) + renderer.end() + renderer.end()

    events = [event.data for event in Decoder().feed(stream)]
    assert events.pop() == b"[DONE]"
    choices = [choice for event in events for choice in json.loads(event)["choices"]]
    for index in range(3):
        mine = [choice for choice in choices if choice["index"] == index]
        assert "".join(c["delta"].get("content") or "" for c in mine) == "".join(t for i, t in texts if i == index)
        assert ["role" in c["delta"] for c in mine] == [True] + [False] * (len(mine) - 1)
        assert [c["finish_reason"] for c in mine] == [None] * (len(mine) - 1) + ["stop"]


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1), min_size=1, max_size=5))
def test_a_choice_without_an_index_is_the_first_one(words: list[str]) -> None:
    relay = Relay("m", choices=1, shows_usage=False, keeps_stop=False)
    said = [{"delta": {"role": "assistant", "content": word}} for word in words]
    chunks: list[dict[str, Any]] = [{"choices": [choice]} for choice in said]
    chunks.append({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    shown = [json.loads(wire.data) for chunk in chunks for wire in relay.push(msgspec.json.encode(chunk))]
    assert [choice["index"] for one in shown for choice in one["choices"]] == [0] * len(chunks)
    assert relay.is_whole


@given(st.lists(st.binary(max_size=30) | JSON.map(lambda value: json.dumps(value).encode()), max_size=6))
def test_an_upstream_that_talks_nonsense_is_refused_without_a_traceback(events: list[bytes]) -> None:
    relay = Relay("m", choices=1, shows_usage=True, keeps_stop=False)
    try:
        for data in events:
            relay.push(data)
        relay.tail()
    except (ChunkError, ReportedError):
        pass


@given(JSON | BODIES)
def test_an_answer_that_is_no_answer_is_refused_without_a_traceback(value: Any) -> None:
    try:
        body = WholeReader("m").correct(json.dumps(value).encode(), keeps_stop=False)[0].body
    except (AnswerError, ReportedError):
        return
    assert json.loads(body)["model"] == "m"


def test_a_choice_without_an_index_is_the_one_that_its_place_says() -> None:
    said = [{"message": {"role": "assistant", "content": word}, "finish_reason": "stop"} for word in ("a", "b")]
    body = WholeReader("m").correct(json.dumps({"choices": said}).encode(), keeps_stop=False)[0].body
    assert json.loads(body)["choices"] == [{**choice, "index": at} for at, choice in enumerate(said)]


TEXTS = st.text(max_size=5) | st.sampled_from(
    ["", "a", '":"', '","', '"', "\\", "assistant", "stop", 'x","tool_calls":[{}],"y":"']
)
CALLS = st.sampled_from([None, [], [{"id": "1", "function": {"name": "f", "arguments": {}}}]])
MESSAGES = st.fixed_dictionaries(
    {"role": st.sampled_from(["assistant", "", None]), "content": TEXTS | st.none()},
    optional={"tool_calls": CALLS, "refusal": TEXTS},
)
CHOICES = st.fixed_dictionaries(
    {"message": MESSAGES, "finish_reason": st.sampled_from(["stop", "length", "eos"])},
    optional={"index": st.just(0), "text": TEXTS},
)


def told_by(reader: WholeReader, body: bytes) -> object:
    try:
        return reader.correct(body, keeps_stop=False)
    except (AnswerError, ReportedError) as error:
        return type(error), str(error)


@given(st.lists(CHOICES, min_size=1, max_size=2), st.lists(TEXTS, min_size=1, max_size=4), st.data())
def test_what_is_told_of_an_answer_hangs_on_no_answer_that_was_read_before(
    choices: list[dict[str, Any]], texts: list[str], data: st.DataObject
) -> None:
    reader = WholeReader("m")
    for text in texts:
        choices[0]["message"]["content"] = text
        body = msgspec.json.encode({"choices": choices})
        at, other = data.draw(st.integers(0, len(body))), data.draw(st.sampled_from([b"", b'"', b"\\", b" ", b"x"]))
        for said in (body, body[:at] + other + body[at:]):
            called = b"tool_calls" in said and b"call_" not in said  # ids that we give are drawn
            told, alone = told_by(reader, said), told_by(WholeReader("m"), said)
            assert told == alone or called, (said, told, alone)


def test_an_answer_that_differs_from_the_one_before_in_its_text_alone_is_known_by_what_is_around_it() -> None:
    around = Around(b'[{"message":{"content":"', b'"}}]', "stop")
    for text in ("", "plain", "two\nlines", '":"'):
        told = msgspec.json.encode([{"message": {"content": text}}])
        assert around.fits(told) is ('"' not in text)
    for cut in (
        b'[{"message":{"content":"\\"}}]',
        b'[{"message":{"content":"',
        b'[{"message":{"content":"","a":"b"}}]',
    ):
        assert not around.fits(cut)


DELTAS = st.fixed_dictionaries(
    {},
    optional={
        "role": st.sampled_from(["assistant", None, ""]),
        "content": st.sampled_from(["a", "", None]),
        "tool_calls": st.lists(
            st.fixed_dictionaries(
                {"function": st.fixed_dictionaries({}, optional={"name": st.just("f"), "arguments": st.just("{}")})},
                optional={"index": st.integers(0, 2), "id": st.sampled_from(["call_a", "call_b", "", None])},
            ),
            max_size=2,
        ),
    },
)
CHOICES = st.fixed_dictionaries(
    {
        "index": st.integers(0, 1),
        "delta": DELTAS,
        "finish_reason": st.sampled_from([None, None, None, "stop", "length"]),
    }
)


@given(st.lists(st.lists(CHOICES, max_size=2), max_size=10))
def test_whatever_an_upstream_streams_clients_can_accumulate_it(chunks: list[list[dict[str, Any]]]) -> None:
    relay = Relay("m", choices=2, shows_usage=False, keeps_stop=False)

    wires = [wire for choices in chunks for wire in relay.push(json.dumps({"id": "c", "choices": choices}).encode())]

    shown = [choice for wire in wires for choice in json.loads(wire.data)["choices"]]
    assert all(isinstance(wire, Wire) and json.loads(wire.data)["choices"] for wire in wires)
    for index in (0, 1):
        mine = [choice for choice in shown if choice["index"] == index]
        assert ["role" in choice["delta"] for choice in mine] == [True] * bool(mine) + [False] * (len(mine) - 1)
        assert sum(choice["finish_reason"] is not None for choice in mine) <= 1
        calls = [call for choice in mine for call in choice["delta"].get("tool_calls") or []]
        assert [call["index"] for call in calls if "id" in call] == list(range(len({c["index"] for c in calls})))
