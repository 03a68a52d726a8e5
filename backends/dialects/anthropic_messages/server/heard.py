"""What a server's own bytes of this dialect say, for judging an answer that passes as it came."""

import msgspec

from backends.dialects.anthropic_messages.server.events import Block, StreamEvent
from backends.dialects.openai_chat.heard import CallPiece, Heard


class _Told(StreamEvent):
    """An event of a stream, or a whole message."""

    content: list[Block] | None = None


_TOLD = msgspec.json.Decoder(_Told)


def heard_in_message(data: bytes) -> Heard:
    """Of one event, or of a whole message. What cannot be read says nothing.

    >>> heard_in_message(b'{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hi"}}').text
    'Hi'
    """
    try:
        told = _TOLD.decode(data)
    except (msgspec.DecodeError, RecursionError):
        return Heard()
    if told.content is not None:
        return _of_message(told.content)
    if told.delta is not None:
        piece = told.delta.partial_json
        return Heard(text=told.delta.text, calls=(CallPiece(told.index, "", piece),) if piece else ())
    block = told.content_block
    if block is None:
        return Heard()
    return Heard(text=block.text, calls=(CallPiece(told.index, block.name, ""),) if block.type == "tool_use" else ())


def _of_message(content: list[Block]) -> Heard:
    return Heard(
        text="".join(block.text for block in content if block.type == "text"),
        calls=tuple(
            CallPiece(place, block.name, bytes(block.input).decode())
            for place, block in enumerate(content)
            if block.type == "tool_use"
        ),
    )
