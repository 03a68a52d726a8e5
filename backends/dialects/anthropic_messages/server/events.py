"""The events of a stream of this dialect, as far as they are read."""

from typing import Any, Literal, TypeVar

import msgspec

from backends.dialects.faults import RequestFault, decode_past_nulls
from backends.dialects.openai_chat.whole import AnswerError
from backends.messages import FinishReason

NOTHING = msgspec.Raw()
Read = TypeVar("Read")

FINISHES: dict[str, FinishReason] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "pause_turn": "stop",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool_calls",
    "refusal": "content_filter",
}
"""`stop_reason` in the words of Chat Completions; a reason that is not known here is the model's own end."""


class Block(msgspec.Struct):
    """A content block at its start. `input` is whole already on servers that do not stream it."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    id: str = ""
    name: str = ""
    input: msgspec.Raw = NOTHING


class Piece(msgspec.Struct):
    """What a delta holds, of a block or of the message."""

    type: str = ""
    text: str = ""
    thinking: str = ""
    partial_json: str = ""
    stop_reason: str | None = None
    stop_sequence: str | None = None


class Start(msgspec.Struct):
    id: str = ""
    usage: msgspec.Raw = NOTHING


class StreamEvent(msgspec.Struct):
    """Of any type. `index` is the block's."""

    type: str = ""
    index: int = 0
    message: Start | None = None
    content_block: Block | None = None
    delta: Piece | None = None
    usage: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING


QUIET: dict[str, Literal["text", "thinking"]] = {"text": "text", "thinking": "thinking"}
"""Blocks that show nothing before their first delta, and the field that would hold it."""

_EVENT = msgspec.json.Decoder(StreamEvent)


def read_event(data: bytes) -> StreamEvent:
    """Raises AnswerError."""
    try:
        return _EVENT.decode(data)
    except (msgspec.DecodeError, RecursionError) as error:
        return without_nulls(_EVENT, data, f"an event of the upstream is none of a message: {error}")


def without_nulls(decoder: "msgspec.json.Decoder[Read]", data: bytes, otherwise: str) -> Read:
    """Some servers tell every field of every kind of event, null where it has none. Raises AnswerError with `otherwise`."""
    try:
        return decode_past_nulls(decoder, data, depth=2)
    except RequestFault:
        raise AnswerError(otherwise) from None


def speaks(event: StreamEvent) -> bool:
    """Whether it carries content: a piece of a block, or a block that says something by beginning."""
    if event.type == "content_block_delta" and event.delta is not None:
        piece = event.delta
        known = piece.type in ("text_delta", "thinking_delta", "input_json_delta")
        return bool(piece.text or piece.thinking or piece.partial_json) or not known
    if event.type == "content_block_start" and event.content_block is not None:
        block = event.content_block
        return block.type not in QUIET or bool(block.text or block.thinking)
    return False


def met(stop_sequence: str | None) -> dict[str, str]:
    """The stop sequence that ended an answer, beside `finish_reason`: as vLLM tells it, for Chat Completions does not."""
    return {"stop_reason": stop_sequence} if stop_sequence else {}


def fields_of(data: bytes) -> dict[str, Any]:
    return msgspec.json.decode(data, type=dict[str, msgspec.Raw])
