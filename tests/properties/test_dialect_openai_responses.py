"""Laws of the Responses dialect: what comes in is read or refused by name; what is said comes out numbered and whole."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.relay import Relay
from backends.dialects.openai_chat.request import read_chat
from backends.dialects.openai_responses.body import Body
from backends.dialects.openai_responses.request import read_responses
from backends.dialects.openai_responses.response import Response
from backends.dialects.openai_responses.stream import Renderer
from backends.messages import Delta, Event, Finish, ToolCall, Usage, Wire
from backends.sse import Decoder

PLAIN: dict[str, Any] = {"model": "m", "input": "hi"}
ASKED = read_responses(json.dumps({**PLAIN, "stream": True}).encode())

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
FIELDS = [field.name for field in msgspec.structs.fields(Body)]
INNER = [
    "role",
    "content",
    "type",
    "text",
    "summary",
    "id",
    "call_id",
    "name",
    "arguments",
    "output",
    "image_url",
    "format",
]
TYPES = [
    "message",
    "function_call",
    "function_call_output",
    "reasoning",
    "input_text",
    "output_text",
    "input_image",
    "refusal",
]
WORDS = st.sampled_from([*TYPES, "user", "assistant", "auto", "function", "json_schema", "x"])
OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from(INNER), JSON | WORDS, max_size=5),
    lambda inner: st.dictionaries(st.sampled_from(INNER), inner | WORDS | st.lists(inner, max_size=2), max_size=5),
    max_leaves=4,
)
BODIES = st.dictionaries(st.sampled_from(FIELDS), JSON | OBJECTS | st.lists(OBJECTS, max_size=2))


@given(st.binary(max_size=40) | BODIES.map(lambda body: json.dumps({**PLAIN, **body}).encode()))
def test_whatever_the_body_is_it_is_read_or_refused_by_name(raw: bytes) -> None:
    try:
        request = read_responses(raw)
    except RequestFault:
        return

    assert msgspec.structs.replace(request, echo=b"") == read_chat(request.raw), (
        "what a server is asked is what was read"
    )
    assert isinstance(json.loads(request.echo), dict)


VALUES = JSON.filter(lambda value: value is not None)
"""A null says nothing, whatever its name is."""


@given(st.text(min_size=1, max_size=9).filter(lambda name: name not in FIELDS), VALUES)
def test_a_field_that_is_not_mapped_is_refused_and_never_dropped(name: str, value: Any) -> None:
    with pytest.raises(RequestFault) as refused:
        read_responses(json.dumps({**PLAIN, name: value}).encode())

    assert name in refused.value.message


TURNS = st.lists(st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=6)), max_size=5)


@given(TURNS, st.text(max_size=6), st.booleans())
def test_a_plain_conversation_is_the_same_request_in_both_dialects(
    turns: list[tuple[str, str]], instructions: str, stream: bool
) -> None:
    told = [*turns, ("user", "q")]
    first = [{"role": "system", "content": instructions}] if instructions else []
    messages = first + [{"role": role, "content": text} for role, text in told]
    chat = read_chat(json.dumps({"model": "m", "messages": messages, "max_tokens": 9, "stream": stream}).encode())
    kinds = {"user": "input_text", "assistant": "output_text"}
    plain: list[Any] = [{"role": role, "content": text} for role, text in told]
    parts = [{"type": "message", "role": r, "content": [{"type": kinds[r], "text": text}]} for r, text in told]

    for items in (plain, parts):
        body = {"model": "m", "input": items, "instructions": instructions, "max_output_tokens": 9, "stream": stream}
        read = read_responses(json.dumps(body).encode())

        assert msgspec.structs.replace(read, raw=b"", echo=b"") == msgspec.structs.replace(chat, raw=b"")


@st.composite
def answers(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Deltas of one choice: text, reasoning, refusals, and the fragments of up to three calls, mixed in any order."""
    lanes: list[list[dict[str, Any]]] = []
    for place in range(draw(st.integers(0, 3))):
        arguments = json.dumps(draw(st.dictionaries(st.text(max_size=3), JSON, max_size=2)))
        cuts = sorted(draw(st.lists(st.integers(0, len(arguments)), max_size=3)))
        pieces = [arguments[a:b] for a, b in zip([0, *cuts], [*cuts, len(arguments)], strict=True)]
        head = {"index": place, "id": f"call_{place}", "function": {"name": f"f{place}", "arguments": ""}}
        rest = [{"index": place, "function": {"arguments": piece}} for piece in pieces]
        lanes.append([{"tool_calls": [part]} for part in [head, *rest]])
    kinds = st.sampled_from(["content", "reasoning_content", "refusal"])
    lanes.append([{draw(kinds): draw(st.text(min_size=1, max_size=4))} for _ in range(draw(st.integers(0, 5)))])
    order = draw(st.permutations([n for n, lane in enumerate(lanes) for _ in lane]))
    return [lanes[n].pop(0) for n in order]


def chunks_of(deltas: list[dict[str, Any]], reason: str = "stop") -> Iterator[bytes]:
    for delta in [*deltas, None]:
        choice = {"index": 0, "delta": delta or {}, "finish_reason": None if delta else reason}
        yield json.dumps({"id": "c", "choices": [choice]}).encode()


def wires(deltas: list[dict[str, Any]], reason: str = "stop") -> list[Event]:
    relay = Relay("m", choices=1, shows_usage=False, keeps_stop=False)
    return [event for chunk in chunks_of(deltas, reason) for event in relay.push(chunk)]


def streamed(events: list[Event]) -> bytes:
    renderer = Renderer(ASKED, "m", "1", 0)
    return b"".join(renderer.render(event) for event in events) + renderer.end() + renderer.end()


def whole_of(events: list[Event]) -> dict[str, Any]:
    response = Response(ASKED, "m", "1", 0)
    for event in events:
        response.add(event)
    found: dict[str, Any] = json.loads(response.body())
    return found


PIECE_OF = {
    "response.output_text.delta": "text",
    "response.reasoning_text.delta": "text",
    "response.refusal.delta": "refusal",
}


def assembled(stream: bytes) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The items as a strict client puts them together from deltas, and the last event; every rule of order is checked."""
    events = list(Decoder().feed(stream))
    told = [json.loads(event.data) for event in events]
    assert [event.name.decode() for event in events] == [event["type"] for event in told]
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert [event["type"] for event in told[:2]] == ["response.created", "response.in_progress"]
    assert told[0]["response"]["output"] == []
    items: list[dict[str, Any]] = []
    is_open = False
    for event in told[2:-1]:
        kind = event["type"]
        if kind == "response.output_item.added":
            assert not is_open
            assert event["output_index"] == len(items)
            is_open = True
            items.append(event["item"])
            continue
        assert is_open
        assert event["output_index"] == len(items) - 1
        item = items[-1]
        assert event.get("item_id", item["id"]) == item["id"]
        if kind == "response.content_part.added":
            item["content"].append(event["part"])
        elif kind == "response.function_call_arguments.delta":
            item["arguments"] += event["delta"]
        elif kind in PIECE_OF:
            item["content"][event["content_index"]][PIECE_OF[kind]] += event["delta"]
        elif kind == "response.content_part.done":
            assert item["content"] == [event["part"]]
        elif kind == "response.output_item.done":
            is_open = False
            assert {**item, "status": event["item"]["status"]} == event["item"]
            item["status"] = event["item"]["status"]
        else:
            assert kind.endswith(".done")
    assert not is_open
    return items, told[-1]


@given(answers(), st.sampled_from(["stop", "length", "content_filter"]))
def test_items_never_overlap_and_come_to_the_whole_response_whatever_order_pieces_come_in(
    deltas: list[dict[str, Any]], reason: str
) -> None:
    events = [*wires(deltas, reason), Usage(7, 3, 2, 1)]

    items, ending = assembled(streamed(events))

    whole = whole_of(events)
    assert items == whole["output"]
    assert ending["response"] == whole
    assert ending["type"] == f"response.{whole['status']}"
    for field, kind in (("content", "output_text"), ("reasoning_content", "reasoning_text"), ("refusal", "refusal")):
        parts = [part for item in items for part in item.get("content", ()) if part["type"] == kind]
        assert "".join(part.get("text") or part.get("refusal") or "" for part in parts) == "".join(
            delta.get(field, "") for delta in deltas
        )
    assert len({item["id"] for item in items}) == len(items)


@given(answers())
def test_what_an_answer_says_a_later_request_may_say_again(deltas: list[dict[str, Any]]) -> None:
    output = whole_of(wires(deltas))["output"]

    body = {**PLAIN, "input": [{"role": "user", "content": "q"}, *output, {"role": "user", "content": "r"}]}
    turns = json.loads(read_responses(json.dumps(body).encode()).raw)["messages"]

    calls = [call["id"] for turn in turns for call in turn.get("tool_calls", ())]
    assert calls == [item["call_id"] for item in output if item["type"] == "function_call"]
    told = "".join(turn.get("reasoning_content", "").replace("\n", "") for turn in turns)
    assert told == "".join(delta.get("reasoning_content", "") for delta in deltas).replace("\n", "")


PIECES = st.lists(st.text(max_size=3).map(Delta) | st.builds(ToolCall, st.just("c"), st.just("f"), st.just("{}")))


@given(PIECES, st.sampled_from(["stop", "length", "tool_calls"]))
def test_an_engine_of_this_process_reads_the_same_streamed_and_whole(pieces: list[Event], reason: Any) -> None:
    calls = iter(range(99))
    numbered = [
        msgspec.structs.replace(e, place=(n := next(calls)), id=f"c{n}") if isinstance(e, ToolCall) else e
        for e in pieces
    ]
    events = [*numbered, Finish(reason), Usage(7, 3)]

    items, ending = assembled(streamed(events))

    assert items == whole_of(events)["output"]
    assert ending["response"] == whole_of(events)


@settings(max_examples=5)
@given(answers(), st.booleans())
def test_an_upstream_stream_cut_at_every_byte_reads_alike(deltas: list[dict[str, Any]], crlf: bool) -> None:
    end = b"\r\n\r\n" if crlf else b"\n\n"
    sent = b"".join(b"data: %b%b" % (chunk, end) for chunk in chunks_of(deltas))

    def read(*parts: bytes) -> list[Wire]:
        decoder, relay = Decoder(), Relay("m", choices=1, shows_usage=False, keeps_stop=False)
        return [wire for part in parts for event in decoder.feed(part) for wire in relay.push(event.data)]

    together = read(sent)
    assembled(streamed(list(together)))
    for cut in range(len(sent)):
        assert read(sent[:cut], sent[cut:]) == together


def test_an_error_ends_a_stream_flat_and_nothing_follows_it() -> None:
    renderer = Renderer(ASKED, "m", "1", 0)
    begun = renderer.render(Delta("a"))
    envelope = json.dumps({"error": {"message": "boom", "type": "t", "param": None, "code": "c"}}).encode()

    [error] = Decoder().feed(renderer.error(envelope))

    assert b"response.created" in begun
    told = {"type": "error", "sequence_number": 5, "code": "c", "message": "boom", "param": None}
    assert (error.name, json.loads(error.data)) == (b"error", told)
    assert renderer.error(envelope) + renderer.end() == b""


ENVELOPE = json.dumps({"error": {"message": "m", "type": "t", "param": None, "code": None}}).encode()
TERMINAL = {"response.completed", "response.incomplete", "response.failed", "error"}


@given(answers(), st.data())
def test_wherever_a_stream_fails_there_is_one_end_and_the_numbers_go_on(
    deltas: list[dict[str, Any]], data: st.DataObject
) -> None:
    events = wires(deltas)
    renderer = Renderer(ASKED, "m", "1", 0)
    kept = data.draw(st.integers(0, len(events)))

    shown = [renderer.render(event) for event in events[:kept]]
    told = [
        json.loads(event.data) for event in Decoder().feed(b"".join([*shown, renderer.error(ENVELOPE), renderer.end()]))
    ]

    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    assert [event["type"] for event in told if event["type"] in TERMINAL] == ["error"]
    assert told[-1]["type"] == "error"


def test_a_response_has_begun_as_soon_as_anything_was_said_even_of_a_call_that_has_no_name_yet() -> None:
    renderer = Renderer(ASKED, "m", "1", 0)
    parts: list[dict[str, Any]] = [{"index": 0, "id": "call_a", "function": {"arguments": part}} for part in ("{", "}")]
    parts[1]["function"]["name"] = "f"

    first, second = (renderer.render(event) for event in wires([{"tool_calls": [part]} for part in parts])[:2])

    assert [event.name for event in Decoder().feed(first)] == [b"response.created", b"response.in_progress"]
    assert [event.name for event in Decoder().feed(second)] == [
        b"response.output_item.added",
        b"response.function_call_arguments.delta",
    ]
