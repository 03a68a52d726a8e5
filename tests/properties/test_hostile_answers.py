"""One value of a good answer replaced by any other, an event lost, said twice, or an error in between: clients of every dialect
read JSON, and one end."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st
from properties.mutated_json import MISFITS, Path, paths, with_misfit

from backends.dialects.anthropic_messages.dialect import AnthropicMessages
from backends.dialects.anthropic_messages.server.heard import heard_in_message
from backends.dialects.anthropic_messages.server.server import MessagesServer
from backends.dialects.dialect import Dialect
from backends.dialects.openai_chat.dialect import OpenAIChat
from backends.dialects.openai_chat.forward import Habits
from backends.dialects.openai_chat.heard import heard, without_logprobs
from backends.dialects.openai_chat.reported import ReportedError
from backends.dialects.openai_chat.server import ChatServer
from backends.dialects.openai_chat.whole import AnswerError
from backends.dialects.openai_completions.dialect import OpenAICompletions
from backends.dialects.openai_responses.dialect import OpenAIResponses
from backends.errors import UpstreamError
from backends.messages import ChatRequest, Whole, Wire
from backends.remote.dialect import ServerDialect
from backends.remote.refusals import from_report
from backends.sse import Decoder
from gateway.request.faults import from_upstream
from gateway.request.reply import error_facts

HEAD = {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "x"}
LOGPROBS = {"content": [{"token": "A", "logprob": -0.1, "bytes": [65], "top_logprobs": []}]}
FUNCTION = {"name": "f", "arguments": '{"x"'}
COUNTS = {"prompt_tokens": 7, "completion_tokens": 3, "prompt_tokens_details": {"cached_tokens": 1}}


def choice(delta: Mapping[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {**HEAD, "choices": [{"index": 0, "delta": delta, "finish_reason": finish, **more}]}


CHUNKS: Sequence[dict[str, Any]] = (
    choice({"role": "assistant", "content": "A", "reasoning_content": "r"}, logprobs=LOGPROBS),
    choice({"tool_calls": [{"index": 0, "id": "call_a", "type": "function", "function": FUNCTION}]}),
    choice({"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}], "refusal": "no"}),
    choice({}, "stop", stop_reason="a"),
    {**HEAD, "choices": [], "usage": COUNTS},
)
TEXTS: Sequence[dict[str, Any]] = (
    {**HEAD, "choices": [{"index": 0, "text": "a", "logprobs": None, "finish_reason": None}]},
    {**HEAD, "choices": [{"index": 0, "text": "", "finish_reason": "stop"}]},
    {**HEAD, "choices": [], "usage": COUNTS},
)
USAGE = {"input_tokens": 5, "cache_creation_input_tokens": 1, "cache_read_input_tokens": 1, "output_tokens": 1}
TOOL = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {"a": 1}}
EVENTS: Sequence[dict[str, Any]] = (
    {
        "type": "message_start",
        "message": {"id": "msg_1", "type": "message", "model": "x", "content": [], "usage": USAGE},
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "T"}},
    {"type": "content_block_stop", "index": 0},
    {"type": "content_block_start", "index": 1, "content_block": TOOL},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"x":1}'}},
    {"type": "content_block_stop", "index": 1},
    {
        "type": "message_delta",
        "delta": {"stop_reason": "tool_use", "stop_sequence": None},
        "usage": {"output_tokens": 9},
    },
    {"type": "message_stop"},
)
SPOKEN = {
    **{"role": "assistant", "content": "A", "refusal": None, "reasoning_content": "r"},
    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}}],
}
COMPLETION = {
    **HEAD,
    "choices": [{"index": 0, "message": SPOKEN, "delta": None, "logprobs": LOGPROBS, "finish_reason": "stop"}],
    **{"usage": COUNTS, "error": None},
}
MESSAGE = {
    **{"id": "msg_1", "type": "message", "role": "assistant", "model": "x", "stop_reason": "tool_use"},
    "content": [{"type": "thinking", "thinking": "t"}, {"type": "text", "text": "T"}, TOOL],
    **{"usage": USAGE, "error": None},
}
TEXT = {**HEAD, "choices": [{"index": 0, "text": "a", "finish_reason": "stop"}], "usage": COUNTS, "error": None}

CHAT, MESSAGES, RESPONSES, BARE = OpenAIChat(), AnthropicMessages(), OpenAIResponses(), OpenAICompletions()
OF_CHAT, OF_MESSAGES = ChatServer("m", "theirs", Habits()), MessagesServer("m", "theirs", 100)
ASKED: Mapping[Dialect, Mapping[str, Any]] = {
    CHAT: {"messages": [{"role": "user", "content": "q"}], "logprobs": True},
    MESSAGES: {"messages": [{"role": "user", "content": "q"}], "max_tokens": 5, "stop_sequences": ["a"]},
    RESPONSES: {"input": "q", "include": ["message.output_text.logprobs"]},
    BARE: {"prompt": "q", "logprobs": 1},
}
PAIRS: Sequence[tuple[Dialect, ServerDialect, Sequence[dict[str, Any]], dict[str, Any]]] = (
    *[(client, OF_CHAT, CHUNKS, COMPLETION) for client in (CHAT, MESSAGES, RESPONSES)],
    *[(client, OF_MESSAGES, EVENTS, MESSAGE) for client in (CHAT, MESSAGES, RESPONSES)],
    (BARE, OF_CHAT, TEXTS, TEXT),
)
ENDS = ("[DONE]", "message_stop", "response.completed", "response.incomplete", "error")
IN_STREAMS = [
    (pair, place, at)
    for pair, (_, _, events, _) in enumerate(PAIRS)
    for place, event in enumerate(events)
    for at in paths(event)
]
IN_ANSWERS = [(pair, at) for pair, (_, _, _, answer) in enumerate(PAIRS) for at in paths(answer)]
CUT = UpstreamError("stream_cut", "it ended", sent=True)


def asked_by(client: Dialect, *, stream: bool) -> ChatRequest:
    return client.read(json.dumps({"model": "m", "stream": stream, **ASKED[client]}).encode())


def judged(event: Wire) -> None:
    """What an escalation would make of it."""
    (heard if event.dialect == "openai_chat" else heard_in_message)(event.data)
    if event.dialect == "openai_chat":
        without_logprobs(event.data)


def envelope(client: Dialect, error: UpstreamError) -> bytes:
    told = from_upstream(error, "m")
    assert 400 <= told.status < 600
    return client.envelope(error_facts(told, "req_1"))


def streamed(client: Dialect, server: ServerDialect, events: Sequence[bytes]) -> bytes:
    """What the client gets of a stream, read as `StreamedAnswer` reads it."""
    request = asked_by(client, stream=True)
    reader, writer = server.reader(request), client.stream(request, "m", "req_1", 1)
    out = b""
    try:
        for data in events:
            for event in reader.push(data):
                if isinstance(event, Wire):
                    judged(event)
                out += writer.render(event)
        if reader.is_whole:
            return out + b"".join(map(writer.render, reader.tail())) + writer.end()
        return out + writer.error(envelope(client, CUT))
    except AnswerError as error:
        return out + writer.error(envelope(client, UpstreamError("bad_answer", str(error), sent=True)))
    except ReportedError as error:
        return out + writer.error(envelope(client, from_report(error, "a-key")))


def ends_of(out: bytes) -> list[str]:
    """Each event is JSON, or the mark of the end."""
    ends = []
    for event in Decoder().feed(out):
        told = {"type": "[DONE]"} if event.data == b"[DONE]" else json.loads(event.data)
        if told.get("type") in ENDS:
            ends.append(told["type"])
    return ends


@given(st.sampled_from(IN_STREAMS), st.sampled_from(MISFITS))
@example((1, 0, ("choices", 0, "delta", "content")), "1e999")
def test_whatever_a_server_says_in_a_stream_the_client_reads_json_and_one_end(
    spot: tuple[int, int, Path], raw: str
) -> None:
    client, server, events, _ = PAIRS[spot[0]]
    said = [json.dumps(event).encode() for event in events]
    said[spot[1]] = with_misfit(events[spot[1]], spot[2], raw)

    assert len(ends_of(streamed(client, server, [*said, b"[DONE]"] if server is OF_CHAT else said))) == 1


ERRORS = (
    {"error": {"message": "no"}},
    {"error": "no"},
    {"type": "error", "error": {"type": "overloaded_error", "message": "no"}},
)


@given(st.integers(0, len(PAIRS) - 1), st.data())
def test_whatever_is_lost_doubled_or_put_between_there_is_one_end(pair: int, data: st.DataObject) -> None:
    client, server, events, _ = PAIRS[pair]
    place = st.integers(0, len(events) - 1)
    mixed = [events[at] for at in data.draw(st.lists(place, max_size=len(events) + 3))]
    said = [json.dumps(event).encode() for event in data.draw(st.sampled_from([mixed, *[[*mixed, e] for e in ERRORS]]))]

    assert len(ends_of(streamed(client, server, said))) == 1


@given(st.sampled_from(IN_ANSWERS), st.sampled_from(MISFITS))
@example((0, ("choices", 0, "message", "tool_calls", 0, "function", "name")), "1e999")
@example((1, ("choices", 0, "message", "tool_calls")), "[1]")
@example((1, ("choices", 0, "delta")), "true")
@example((2, ("choices", 0, "message", "content")), "1e999")
@example((0, ("error",)), "1e999")
@example((4, ("error",)), "1e999")
def test_whatever_a_server_answers_in_one_piece_the_client_reads_json(spot: tuple[int, Path], raw: str) -> None:
    client, server, _, answer = PAIRS[spot[0]]
    request = asked_by(client, stream=False)
    writer = client.whole(request, "m", "req_1", 1)

    try:
        for event in server.whole(with_misfit(answer, spot[1], raw), request):
            if isinstance(event, Whole):
                judged(Wire(event.body, dialect=event.dialect))
            writer.add(event)
        told = writer.body()
    except AnswerError as error:
        told = envelope(client, UpstreamError("bad_answer", str(error), sent=True))
    except ReportedError as error:
        told = envelope(client, from_report(error, "a-key"))

    assert isinstance(json.loads(told), dict)


def test_words_beside_an_empty_delta_are_not_lost() -> None:
    answer = {
        **COMPLETION,
        "choices": [{"index": 0, "message": {"content": "hi"}, "delta": {}, "finish_reason": "stop"}],
    }
    request = asked_by(MESSAGES, stream=False)
    writer = MESSAGES.whole(request, "m", "req_1", 1)

    for event in OF_CHAT.whole(json.dumps(answer).encode(), request):
        writer.add(event)

    assert json.loads(writer.body())["content"] == [{"type": "text", "text": "hi"}]
