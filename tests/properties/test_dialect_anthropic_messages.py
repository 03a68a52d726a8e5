"""Laws of the Messages dialect: hostile bodies, blocks that never overlap, streams that come to the whole message."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from backends.dialects.anthropic_messages.body import Body
from backends.dialects.anthropic_messages.request import read_messages, read_to_count
from backends.dialects.anthropic_messages.response import Message
from backends.dialects.anthropic_messages.stream import Renderer
from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.relay import Relay
from backends.dialects.openai_chat.request import read_chat
from backends.messages import Delta, Event, Finish, ToolCall, Usage, Wire
from backends.sse import Decoder

PLAIN: dict[str, Any] = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
ASKED = read_messages(json.dumps({**PLAIN, "stream": True}).encode())

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [field.name for field in msgspec.structs.fields(Body)]
INNER = ["role", "content", "type", "text", "source", "id", "name", "input", "tool_use_id", "input_schema", "data"]
WORDS = st.sampled_from(["user", "assistant", "text", "image", "tool_use", "tool_result", "thinking", "auto", "x"])
OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from(INNER), JSON | WORDS, max_size=5),
    lambda inner: st.dictionaries(st.sampled_from(INNER), inner | WORDS | st.lists(inner, max_size=2), max_size=5),
    max_leaves=4,
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), JSON | OBJECTS | st.lists(OBJECTS, max_size=2))


@given(st.binary(max_size=40) | BODIES.map(lambda body: json.dumps({**PLAIN, **body}).encode()))
def test_whatever_the_body_is_it_is_read_or_refused_by_name(raw: bytes) -> None:
    for read in (read_messages, read_to_count):
        try:
            request = read(raw)
        except RequestFault:
            continue
        assert request.native is not None
        assert request.native.body == raw, "a server of the same dialect is asked with the bytes that came"
        if request.unmapped is None:
            told = read_chat(request.raw)
            assert told == msgspec.structs.replace(request, native=None), (
                "what another server is asked is what was read"
            )
        else:
            assert not request.raw


VALUES = JSON.filter(lambda value: value is not None)
"""A null says nothing, whatever its name is."""


@given(st.text(min_size=1, max_size=9).filter(lambda name: name not in FIELDS), VALUES)
def test_a_field_that_is_not_mapped_is_refused_and_never_dropped(name: str, value: Any) -> None:
    request = read_messages(json.dumps({**PLAIN, name: value}).encode())

    assert request.unmapped is not None, "no server of another dialect is asked without it"
    assert name in request.unmapped.message


TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=6)), max_size=5)


@given(TURNS, st.text(max_size=6), st.booleans())
def test_a_plain_conversation_is_the_same_request_in_both_dialects(
    turns: list[tuple[str, str]], system: str, stream: bool
) -> None:
    told = [{"role": role, "content": text} for role, text in [*turns, ("user", "q")]]
    blocks = [{"role": turn["role"], "content": [{"type": "text", "text": turn["content"]}]} for turn in told]
    first = [{"role": "system", "content": system}] if system else []
    chat = read_chat(json.dumps({"model": "m", "max_tokens": 9, "messages": first + told, "stream": stream}).encode())

    for messages in (told, blocks):
        body = {"model": "m", "max_tokens": 9, "system": system, "messages": messages, "stream": stream}
        read = read_messages(json.dumps(body).encode())

        assert msgspec.structs.replace(read, raw=b"", native=None) == msgspec.structs.replace(chat, raw=b"")


@st.composite
def answers(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Deltas of one choice: text, reasoning, and the fragments of up to three calls, mixed in any order."""
    lanes: list[list[dict[str, Any]]] = []
    for place in range(draw(st.integers(0, 3))):
        arguments = json.dumps(draw(st.dictionaries(st.text(max_size=3), JSON, max_size=2)))
        cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=3)))
        pieces = [arguments[a:b] for a, b in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
        head = {"index": place, "id": f"call_{place}", "function": {"name": f"f{place}", "arguments": ""}}
        rest = [{"index": place, "function": {"arguments": piece}} for piece in pieces]
        lanes.append([{"tool_calls": [part]} for part in [head, *rest]])
    kinds = st.sampled_from(["content", "reasoning_content"])
    lanes.append([{draw(kinds): draw(st.text(min_size=1, max_size=4))} for _ in range(draw(st.integers(0, 5)))])
    order = draw(st.permutations([n for n, lane in enumerate(lanes) for _ in lane]))
    return [lanes[n].pop(0) for n in order]


def wires(deltas: list[dict[str, Any]]) -> Iterator[Event]:
    relay = Relay("m", choices=1, shows_usage=False, keeps_stop=False)
    for delta in [*deltas, None]:
        choice = {"index": 0, "delta": delta or {}, "finish_reason": None if delta else "stop"}
        yield from relay.push(json.dumps({"id": "c", "choices": [choice]}).encode())


def assembled(stream: bytes) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The blocks as a client puts them together, which it can do only if none overlap, and the ending."""
    blocks: list[dict[str, Any]] = []
    is_open = False
    events = list(Decoder().feed(stream))
    told = [json.loads(event.data) for event in events]
    assert [event.name.decode() for event in events] == [event["type"] for event in told]
    assert [event["type"] for event in (told[0], *told[-2:])] == ["message_start", "message_delta", "message_stop"]
    for event in told[1:-2]:
        if event["type"] == "content_block_start":
            assert not is_open
            assert event["index"] == len(blocks)
            blocks.append({**event["content_block"], "json": ""})
        elif event["type"] == "content_block_delta":
            assert is_open
            assert event["index"] == len(blocks) - 1
            add(blocks[-1], event["delta"])
        is_open = event["type"] != "content_block_stop"
    assert not is_open
    return blocks, told[-2]


def add(block: dict[str, Any], delta: dict[str, str]) -> None:
    field = {"text_delta": "text", "thinking_delta": "thinking", "input_json_delta": "json"}[delta["type"]]
    block[field] += delta.get("partial_json", "") or delta.get(field, "")


def whole_of(events: list[Event]) -> dict[str, Any]:
    message = Message(ASKED, "m", "msg_1")
    for event in events:
        message.add(event)
    found: dict[str, Any] = json.loads(message.body())
    return found


def streamed(events: list[Event]) -> bytes:
    renderer = Renderer(ASKED, "m", "msg_1")
    return b"".join(renderer.render(event) for event in events) + renderer.end() + renderer.end()


@given(answers())
def test_blocks_never_overlap_and_come_to_the_whole_message_whatever_order_pieces_come_in(
    deltas: list[dict[str, Any]],
) -> None:
    events = [*wires(deltas), Usage(7, 3, 2)]

    blocks, ending = assembled(streamed(events))

    whole = whole_of(events)
    for block in blocks:
        text = block.pop("json")
        if block["type"] == "tool_use":
            block["input"] = json.loads(text)
    assert blocks == whole["content"]
    assert ending["delta"] == {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    assert ending["usage"] == whole["usage"]
    told = ["".join(delta.get(kind, "") for delta in deltas) for kind in ("content", "reasoning_content")]
    assert ["".join(b.get(kind, "") for b in blocks) for kind in ("text", "thinking")] == told
    assert whole["stop_reason"] == ("tool_use" if any("tool_calls" in delta for delta in deltas) else "end_turn")


PIECES = st.lists(st.text(max_size=3).map(Delta) | st.builds(ToolCall, st.just("c"), st.just("f"), st.just("{}")))


@given(PIECES, st.sampled_from(["stop", "length", "tool_calls"]))
def test_an_engine_of_this_process_reads_the_same_streamed_and_whole(pieces: list[Event], reason: Any) -> None:
    calls = iter(range(99))
    numbered = [
        msgspec.structs.replace(e, place=next(calls), id=f"c{e}") if isinstance(e, ToolCall) else e for e in pieces
    ]
    events = [*numbered, Finish(reason), Usage(7, 3)]

    blocks, ending = assembled(streamed(events))

    whole = whole_of(events)
    assert [(b["type"], b.get("text"), b.get("name")) for b in blocks] == [
        (b["type"], b.get("text"), b.get("name")) for b in whole["content"]
    ]
    assert ending["delta"]["stop_reason"] == whole["stop_reason"]


@given(answers(), st.data())
def test_an_upstream_stream_cut_at_any_byte_reads_alike(deltas: list[dict[str, Any]], data: st.DataObject) -> None:
    chunks = [{"index": 0, "delta": delta, "finish_reason": None} for delta in deltas]
    sent = b"".join(b"data: %b\n\n" % json.dumps({"choices": [choice]}).encode() for choice in chunks)
    cut = data.draw(st.integers(0, len(sent)))

    def read(*parts: bytes) -> bytes:
        decoder, relay = Decoder(), Relay("m", choices=1, shows_usage=False, keeps_stop=False)
        events: list[Wire] = []
        for part in parts:
            for event in decoder.feed(part):
                events += relay.push(event.data)
        return streamed(list(events))

    assert read(sent[:cut], sent[cut:]) == read(sent)


def test_an_error_ends_a_stream_and_nothing_follows_it() -> None:
    renderer = Renderer(ASKED, "m", "msg_1")
    begun = renderer.render(Delta("a"))

    assert b"message_start" in begun
    assert renderer.error(b"{}") == b"event: error\ndata: {}\n\n"
    assert renderer.error(b"{}") + renderer.end() == b""


def test_a_message_has_begun_as_soon_as_anything_was_said_even_of_a_call_that_has_no_name_yet() -> None:
    renderer = Renderer(ASKED, "m", "msg_1")
    parts: list[dict[str, Any]] = [{"index": 0, "id": "call_a", "function": {"arguments": part}} for part in ("{", "}")]
    parts[1]["function"]["name"] = "f"

    first, second = (renderer.render(event) for event in list(wires([{"tool_calls": [part]} for part in parts]))[:2])

    assert [event.name for event in Decoder().feed(first)] == [b"message_start"]
    assert [event.name for event in Decoder().feed(second)] == [b"content_block_start", b"content_block_delta"]
