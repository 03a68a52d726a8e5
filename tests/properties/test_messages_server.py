"""Laws of servers that speak Anthropic's Messages: what comes through unchanged, and what is alike on every way through."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.anthropic_messages.dialect import AnthropicMessages
from backends.dialects.anthropic_messages.request import read_messages
from backends.dialects.anthropic_messages.response import Message
from backends.dialects.anthropic_messages.server.ask import asked_of, fault_of
from backends.dialects.anthropic_messages.server.chunks import MessagesAsChunks
from backends.dialects.anthropic_messages.server.relay import MessagesRelay
from backends.dialects.anthropic_messages.server.server import MessagesServer
from backends.dialects.anthropic_messages.server.whole import as_completion, relayed
from backends.dialects.anthropic_messages.stream import Renderer as MessageStream
from backends.dialects.dialect import Dialect, StreamWriter
from backends.dialects.openai_chat.dialect import OpenAIChat
from backends.dialects.openai_chat.forward import Habits
from backends.dialects.openai_chat.reported import ReportedError
from backends.dialects.openai_chat.request import read_chat
from backends.dialects.openai_chat.server import ChatServer
from backends.dialects.openai_chat.shapes import in_utf8
from backends.dialects.openai_chat.whole import AnswerError
from backends.dialects.openai_responses.dialect import OpenAIResponses
from backends.messages import Event, Finish, Usage, Whole, Wire
from backends.remote.dialect import ServerDialect, StreamReader
from backends.remote.prefix import canonical
from backends.remote.prompt import estimate_prompt
from backends.sse import Decoder
from gateway.request.escalate.listen import Listener

PLAIN: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
MESSAGES = read_messages(json.dumps({**PLAIN, "stream": True}).encode())

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
OBJECT = st.dictionaries(st.text(max_size=6), JSON, max_size=3)


# --- what a server says


def block_events(index: int, block: dict[str, Any], pieces: list[str]) -> list[dict[str, Any]]:
    """A block as a server streams it: opened empty, told in pieces, closed."""
    field = {"text": "text", "thinking": "thinking", "tool_use": "partial_json"}[block["type"]]
    kind = {"text": "text_delta", "thinking": "thinking_delta", "tool_use": "input_json_delta"}[block["type"]]
    empty = {"input": {}} if block["type"] == "tool_use" else {field: ""}
    deltas = [
        {"type": "content_block_delta", "index": index, "delta": {"type": kind, field: piece}} for piece in pieces
    ]
    if block["type"] == "thinking":
        signature = {"type": "signature_delta", "signature": "c2ln"}
        deltas.append({"type": "content_block_delta", "index": index, "delta": signature})
    start = {"type": "content_block_start", "index": index, "content_block": {**block, **empty}}
    return [start, *deltas, {"type": "content_block_stop", "index": index}]


@st.composite
def blocks(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Text and thinking alternate, as they do: two of a kind in a row would be one."""
    found: list[dict[str, Any]] = []
    for place in range(draw(st.integers(1, 4))):
        kind = draw(
            st.sampled_from([k for k in ("text", "thinking", "tool_use") if not found or found[-1]["type"] != k])
        )
        if kind == "tool_use":
            found.append({"type": kind, "id": f"t{place}", "name": f"f{place}", "input": draw(OBJECT)})
        else:
            found.append({"type": kind, kind: draw(st.text(min_size=1, max_size=6))})
    return found


@st.composite
def streams(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The blocks of an answer, and its events."""
    content = draw(blocks())
    usage = {
        "input_tokens": draw(st.integers(0, 9)),
        "cache_read_input_tokens": draw(st.integers(0, 9)),
        "output_tokens": 1,
    }
    message = {"id": "msg_1", "type": "message", "role": "assistant", "model": "theirs", "content": [], "usage": usage}
    events = [{"type": "message_start", "message": message}, {"type": "ping"}]
    for index, block in enumerate(content):
        whole = json.dumps(block["input"]) if block["type"] == "tool_use" else block[block["type"]]
        cut = draw(st.integers(0, len(whole)))
        events += block_events(index, block, [piece for piece in (whole[:cut], whole[cut:]) if piece])
    reason = "tool_use" if any(block["type"] == "tool_use" for block in content) else "end_turn"
    events.append({"type": "message_delta", "delta": {"stop_reason": reason}, "usage": {"output_tokens": 5}})
    return content, [*events, {"type": "message_stop"}]


def as_stream(events: list[dict[str, Any]]) -> bytes:
    told = [(event["type"], json.dumps(event, ensure_ascii=False)) for event in events]
    return "".join(f"event: {name}\ndata: {data}\n\n" for name, data in told).encode("utf-8", "replace")


def chunks_of(events: list[dict[str, Any]]) -> list[Event]:
    reader = MessagesAsChunks("m", shows_usage=False, created=1)
    return [event for told in events for event in reader.push(json.dumps(told).encode())] + reader.tail()


def relay_of(events: list[dict[str, Any]]) -> list[Event]:
    reader = MessagesRelay("m")
    return [event for told in events for event in reader.push(json.dumps(told).encode())] + reader.tail()


# --- a stream cut anywhere decodes alike, for every pair of dialects

RICH: list[dict[str, Any]] = [
    {
        "type": "message_start",
        "message": {"id": "msg_1", "model": "theirs", "usage": {"input_tokens": 5, "output_tokens": 1}},
    },
    {"type": "ping"},
    *block_events(0, {"type": "thinking", "thinking": "hm"}, ["h", "m"]),
    *block_events(1, {"type": "text", "text": "北京\u2028é"}, ["北", "京\u2028é"]),
    *block_events(2, {"type": "tool_use", "id": "t", "name": "f", "input": {"x": "ü"}}, ['{"x"', ':"ü"}']),
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 5}},
    {"type": "message_stop"},
]


def chat_bytes() -> bytes:
    deltas: list[dict[str, Any]] = [
        {"reasoning_content": "hm"},
        {"content": "北京\u2028é"},
        {"tool_calls": [{"index": 0, "id": "t", "function": {"name": "f", "arguments": '{"x"'}}]},
        {"tool_calls": [{"index": 0, "function": {"arguments": ':"ü"}'}}]},
    ]
    chunks = [{"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks.append({"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    chunks.append({"id": "c", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 5}})  # type: ignore[typeddict-item]
    told = "".join(f"data: {json.dumps(chunk, ensure_ascii=False)}\r\n\r\n" for chunk in chunks)
    return b"\xef\xbb\xbf: hello\r\n\r\n" + told.encode() + b"data: [DONE]\r\n\r\n"


BODY = {"model": "m", "stream": True, "stream_options": {"include_usage": True}}
CLIENTS: dict[str, tuple[Dialect, dict[str, Any]]] = {
    "openai_chat": (OpenAIChat(), {**BODY, "messages": PLAIN["messages"]}),
    "anthropic": (AnthropicMessages(), {**PLAIN, "stream": True}),
    "openai_responses": (OpenAIResponses(), {"model": "m", "input": "hi", "stream": True}),
}
SERVERS: dict[str, tuple[ServerDialect, bytes]] = {
    "openai_chat": (ChatServer("m", "theirs", Habits()), chat_bytes()),
    "anthropic": (MessagesServer("m", "theirs", 64, now=lambda: 1.0), as_stream(RICH)),
}


def through(parts: list[bytes], reader: StreamReader, renderer: StreamWriter) -> bytes:
    decoder, shown = Decoder(), b""
    for part in parts:
        for event in decoder.feed(part):
            for seen in reader.push(event.data):
                shown += renderer.render(seen)
    for seen in reader.tail():
        shown += renderer.render(seen)
    return shown + renderer.end()


@pytest.mark.parametrize("server", SERVERS)
@pytest.mark.parametrize("client", CLIENTS)
def test_a_stream_cut_at_any_byte_reads_alike(client: str, server: str) -> None:
    (dialect, body), (asked, sent) = CLIENTS[client], SERVERS[server]
    request = dialect.read(json.dumps(body).encode())

    def read(*parts: bytes) -> bytes:
        return through(list(parts), asked.reader(request), dialect.stream(request, "m", "req_1", 1))

    whole = read(sent)
    assert all(word.encode() in whole for word in "北京")
    assert read(*[sent[at : at + 1] for at in range(len(sent))]) == whole
    for at in range(len(sent)):
        assert read(sent[:at], sent[at:]) == whole, f"cut at {at}: {sent[at - 9 : at + 9]!r}"


# --- the same dialect on both sides


@given(streams(), st.dictionaries(st.text(min_size=1, max_size=5).map(lambda name: f"x_{name}"), JSON, max_size=2))
def test_a_relayed_stream_is_the_servers_own_but_for_the_models_name(
    stream: tuple[list[dict[str, Any]], list[dict[str, Any]]], extra: dict[str, Any]
) -> None:
    events = [{**event, **extra} for event in stream[1]]
    sent = [json.dumps(event).encode() for event in events]
    reader, renderer = MessagesRelay("m"), MessageStream(MESSAGES, "m", "id")

    shown = b"".join(renderer.render(event) for data in sent for event in reader.push(data)) + renderer.end()

    read = Decoder().feed(shown)
    assert [event.data for event in read[1:]] == sent[1:]
    assert [event.name.decode() for event in read] == [event["type"] for event in events]
    first = json.loads(read[0].data)
    assert first == {**events[0], "message": {**events[0]["message"], "model": "m"}}
    assert reader.is_whole
    assert reader.said_done


@given(streams(), st.integers(0, 30))
def test_a_stream_that_breaks_off_is_whole_only_behind_its_reason(
    stream: tuple[list[dict[str, Any]], list[dict[str, Any]]], kept: int
) -> None:
    events = stream[1][:kept]
    has_reason = any(event["type"] == "message_delta" for event in events)

    for reader in (MessagesRelay("m"), MessagesAsChunks("m", shows_usage=False, created=1)):
        for event in events:
            reader.push(json.dumps(event).encode())
        assert reader.is_whole is has_reason


def begun(model: str) -> MessagesRelay:
    relay = MessagesRelay(model)
    relay.push(b'{"type":"message_start","message":{"id":"msg_1"}}')
    return relay


def test_a_stop_without_a_reason_is_kept_back_and_a_missing_one_supplied_once() -> None:
    stop = b'{"type":"message_stop"}'
    renderer = MessageStream(MESSAGES, "m", "id")
    reason = {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}}

    assert begun("m").push(stop) == []
    for event in begun("m").push(json.dumps(reason).encode()):
        renderer.render(event)
    assert [event.name for event in Decoder().feed(renderer.end() + renderer.end())] == [b"message_stop"]


@given(st.dictionaries(st.text(max_size=9).map(lambda name: f"x_{name}"), JSON, max_size=4))
def test_a_body_of_the_same_dialect_goes_on_as_it_came_but_for_the_model(extra: dict[str, Any]) -> None:
    raw = json.dumps({**extra, **PLAIN}).encode()
    request = read_messages(raw)

    sent = asked_of(request, "theirs", 64)

    kept, came = (msgspec.json.decode(data, type=dict[str, msgspec.Raw]) for data in (sent, raw))
    assert kept.pop("model") == msgspec.Raw(b'"theirs"')
    assert {name: bytes(value) for name, value in kept.items()} == {
        name: bytes(value) for name, value in came.items() if name != "model"
    }
    assert fault_of(request) is None


# --- across: what both have words for comes back as it was


def assembled(shown: bytes) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    for event in Decoder().feed(shown):
        told = json.loads(event.data)
        if told["type"] == "content_block_start":
            found.append({**told["content_block"], "json": ""})
        elif told["type"] == "content_block_delta":
            delta, block = told["delta"], found[-1]
            field = "json" if "partial_json" in delta else block["type"]
            block[field] += delta.get("partial_json") or delta.get(field) or ""
    for block in found:
        text = block.pop("json")
        block.pop("signature", None)
        if block["type"] == "tool_use":
            block["input"] = json.loads(text)
    return found


@given(streams())
def test_an_answer_comes_through_chat_completions_as_it_was(
    stream: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    content, events = stream
    renderer = MessageStream(MESSAGES, "m", "id")

    shown = b"".join(renderer.render(event) for event in chunks_of(events)) + renderer.end()

    assert assembled(shown) == content
    last = json.loads(Decoder().feed(shown)[-2].data)
    assert last["delta"]["stop_reason"] == events[-2]["delta"]["stop_reason"]
    usage = events[0]["message"]["usage"]
    assert last["usage"]["input_tokens"] == usage["input_tokens"]
    assert (last["usage"]["cache_read_input_tokens"], last["usage"]["output_tokens"]) == (
        usage["cache_read_input_tokens"],
        5,
    )


@given(blocks())
def test_a_whole_answer_has_the_same_words_and_calls_on_both_ways(content: list[dict[str, Any]]) -> None:
    body = {
        "id": "msg_1",
        "type": "message",
        "content": content,
        "stop_reason": "end_turn",
        "usage": {"input_tokens": 2, "output_tokens": 3},
    }
    told = json.dumps(body).encode()

    _, finish, usage = relayed(told, "m")
    whole, _ = as_completion(told, "m", 1)
    message = Message(MESSAGES, "m", "id")
    message.add(whole)

    assert (finish, usage) == (Finish("stop"), Usage(2, 3))
    found = json.loads(message.body())["content"]
    for kind, key in (("text", "text"), ("thinking", "thinking")):
        wanted = "".join(block[key] for block in content if block["type"] == kind)
        assert "".join(block[key] for block in found if block["type"] == kind) == wanted
    assert [block for block in found if block["type"] == "tool_use"] == [b for b in content if b["type"] == "tool_use"]


TEXTS = st.text(min_size=1, max_size=5)
TEXT = TEXTS.map(lambda text: {"type": "text", "text": text})
PICTURE = st.sampled_from(
    [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aGk="}},
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]
)
ASKED = TEXTS | st.lists(TEXT | PICTURE, min_size=2, max_size=3)
SCHEMA = OBJECT.map(lambda schema: {**schema, "type": "object"})
TOOL = st.fixed_dictionaries(
    {"name": st.sampled_from("fgh"), "input_schema": SCHEMA}, optional={"description": TEXTS, "strict": st.booleans()}
)
CHOICE = st.one_of(
    st.sampled_from([{"type": "none"}, {"type": "auto"}]),
    st.fixed_dictionaries({"type": st.sampled_from(["auto", "any"]), "disable_parallel_tool_use": st.just(True)}),
    st.fixed_dictionaries({"type": st.just("tool"), "name": st.just("f")}),
)
OPTIONS = st.fixed_dictionaries(
    {},
    optional={
        "system": TEXTS | st.lists(TEXT, min_size=2, max_size=3),
        "temperature": st.floats(0, 1),
        "top_p": st.floats(0, 1),
        "top_k": st.integers(1, 50),
        "stop_sequences": st.lists(TEXTS, min_size=1, max_size=4),
        "stream": st.booleans(),
        "output_config": st.fixed_dictionaries(
            {},
            optional={
                "effort": st.sampled_from(["low", "high"]),
                "format": st.fixed_dictionaries({"type": st.just("json_schema"), "schema": OBJECT}),
            },
        ).filter(bool),
        "metadata": st.fixed_dictionaries({"user_id": TEXTS}),
        "service_tier": st.sampled_from(["auto", "standard_only"]),
    },
)


@st.composite
def conversations(draw: st.DrawFn) -> list[dict[str, Any]]:
    turns: list[dict[str, Any]] = [{"role": "user", "content": draw(ASKED)}]
    for place in range(draw(st.integers(0, 2))):
        calls = [
            {"type": "tool_use", "id": f"t{place}{n}", "name": "f", "input": draw(OBJECT)}
            for n in range(draw(st.integers(0, 2)))
        ]
        words = draw(st.lists(TEXT, min_size=0 if calls else 2, max_size=2))
        turns.append({"role": "assistant", "content": [*words, *calls] if calls else draw(TEXTS | st.just(words))})
        results = [
            {
                "type": "tool_result",
                "tool_use_id": call["id"],
                "content": draw(TEXTS | st.lists(TEXT, min_size=2, max_size=2)),
            }
            for call in calls
        ]
        more = draw(st.lists(TEXT | PICTURE, min_size=0 if results else 2, max_size=3))
        turns.append({"role": "user", "content": [*results, *more] if results else draw(TEXTS | st.just(more))})
    return turns


@given(
    conversations(),
    OPTIONS,
    st.lists(TOOL, min_size=1, max_size=2, unique_by=lambda tool: tool["name"]) | st.none(),
    CHOICE | st.none(),
)
def test_what_both_dialects_have_words_for_comes_back_as_it_was(
    turns: list[dict[str, Any]], options: dict[str, Any], tools: list[Any] | None, choice: dict[str, Any] | None
) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": turns, **options}
    if tools is not None:
        body |= {"tools": tools} | ({"tool_choice": choice} if choice is not None else {})
    chat = read_messages(json.dumps(body).encode())

    assert chat.unmapped is None
    assert json.loads(asked_of(read_chat(chat.raw), "m", 1)) == json.loads(json.dumps(body))


@given(conversations(), OPTIONS, st.lists(TOOL, max_size=2))
def test_a_prompt_is_the_same_prefix_whatever_only_its_own_dialect_has_words_for(
    turns: list[dict[str, Any]], options: dict[str, Any], tools: list[Any]
) -> None:
    body = {"model": "m", "max_tokens": 9, "messages": turns, "tools": tools, **options}
    plain, odd = (read_messages(json.dumps({**body, **more}).encode()) for more in ({}, {"x_new": 1}))

    assert (plain.unmapped, odd.unmapped is None) == (None, False)
    assert canonical(odd) == canonical(plain)
    assert estimate_prompt(odd) == estimate_prompt(plain)
    assert (odd.max_tokens, odd.stop, odd.stream) == (plain.max_tokens, plain.stop, plain.stream)


@given(st.lists(st.sampled_from([3, 5]), max_size=8), st.booleans())
def test_calls_that_are_told_in_turns_stay_apart(turns: list[int], again: bool) -> None:
    """Blocks that overlap are none of the dialect's, and no reason to mix two calls up; nor is a number that comes twice."""
    second = 3 if again else 5
    opened = {"type": "content_block_start", "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}
    pieces = [
        {"type": "content_block_delta", "index": at, "delta": {"type": "input_json_delta", "partial_json": str(at)}}
        for at in turns
    ]
    events = [{**opened, "index": 3}, {**opened, "index": second}, *pieces]

    chunks = [json.loads(event.data) for event in chunks_of(events) if isinstance(event, Wire)]

    told = [call for chunk in chunks for call in chunk["choices"][0]["delta"]["tool_calls"]]
    assert [call["index"] for call in told if "id" in call] == [0, 1]
    for place, at in ((1, second), (0, 3))[: 1 if again else 2]:
        assert "".join(c["function"]["arguments"] for c in told if c["index"] == place) == str(at) * turns.count(at)


# --- whatever a server says


@given(
    st.binary(max_size=60)
    | JSON.map(lambda value: json.dumps(value).encode())
    | OBJECT.map(lambda o: json.dumps(o).encode())
)
def test_no_bytes_break_a_reader(data: bytes) -> None:
    for read in (MessagesRelay("m").push, MessagesAsChunks("m", shows_usage=True, created=1).push, _whole, _completed):
        try:
            found = list(read(data))
        except (AnswerError, ReportedError):
            continue
        assert all(isinstance(event, Wire | Whole | Finish | Usage) for event in found)


def _whole(data: bytes) -> Iterator[Event]:
    return iter(relayed(data, "m"))


def _completed(data: bytes) -> Iterator[Event]:
    return iter(as_completion(data, "m", 1))


ANYTHING = st.text(st.characters(exclude_categories=[]), max_size=8)


@given(st.lists(ANYTHING | st.sampled_from(["\ud83d", "\ude00", "\\ud83d", "\\"]), max_size=4).map("".join))
def test_half_a_surrogate_pair_becomes_a_replacement_and_nothing_else_changes(text: str) -> None:
    data = json.dumps({"a": text}).encode()

    read = msgspec.json.decode(in_utf8(data))

    assert read == {"a": text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")}
    if "\ufffd" not in read["a"]:
        assert in_utf8(data) == data


# --- judged alike


@given(streams())
def test_an_answer_is_heard_alike_whether_it_is_relayed_or_translated(
    stream: tuple[list[dict[str, Any]], list[dict[str, Any]]],
) -> None:
    own, other = Listener(), Listener()
    for event in relay_of(stream[1]):
        own.hear(event)
    for event in chunks_of(stream[1]):
        other.hear(event)

    said, again = own.said(), other.said()
    assert (said.text, said.ending, said.declined) == (again.text, again.ending, again.declined)
    assert [call.name for call in said.calls] == [call.name for call in again.calls]
    wanted = [block["input"] for block in stream[0] if block["type"] == "tool_use"]
    assert [json.loads(call.arguments or "{}") for call in said.calls] == wanted
