"""Pieces of JSON that both the whole message and the stream are made of."""

from typing import Any

from backends.dialects.anthropic_messages.blocks import Block, Kind
from backends.dialects.openai_chat.pieces import object_of
from backends.messages import Usage

Shape = dict[str, Any]


def message_object(id: str, model: str, content: list[Shape], reason: str | None, sequence: str | None) -> Shape:
    return {
        "id": id,
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": content,
        "stop_reason": reason,
        "stop_sequence": sequence,
        "usage": usage_object(Usage(0, 0)),
    }


def usage_object(usage: Usage) -> Shape:
    """`input_tokens` leaves out what was read from a cache or written to one, which is told beside it.

    >>> usage_object(Usage(120, 9, 100))["input_tokens"]
    20
    """
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens - usage.written_tokens,
        "cache_creation_input_tokens": usage.written_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "output_tokens": usage.completion_tokens,
        **({"output_tokens_details": {"thinking_tokens": usage.reasoning_tokens}} if usage.reasoning_tokens else {}),
    }


def opening_of(block: Block) -> Shape:
    """The block as it is before its first delta."""
    if block.kind == "text":
        return {"type": "text", "text": ""}
    if block.kind == "thinking":
        return {"type": "thinking", "thinking": "", "signature": ""}
    return {"type": "tool_use", "id": block.id, "name": block.name, "input": {}}


def delta_of(kind: Kind, piece: str) -> Shape:
    """
    >>> delta_of("tool_use", '{"x"')
    {'type': 'input_json_delta', 'partial_json': '{"x"'}
    """
    if kind == "text":
        return {"type": "text_delta", "text": piece}
    if kind == "thinking":
        return {"type": "thinking_delta", "thinking": piece}
    return {"type": "input_json_delta", "partial_json": piece}


def block_object(block: Block) -> Shape:
    """A whole block. A call whose arguments are no object, because a limit cut it, is told as text."""
    if block.kind != "tool_use":
        return {**opening_of(block), block.kind: block.content}
    arguments = object_of(block.content or "{}")
    if arguments is None:
        return {"type": "text", "text": block.content}
    return {**opening_of(block), "input": arguments}
