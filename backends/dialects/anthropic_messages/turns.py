"""Turns of content blocks as turns of Chat Completions."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import msgspec

from backends.dialects.anthropic_messages.body import (
    Base64,
    Block,
    Image,
    RedactedThinking,
    Text,
    Thinking,
    ToolResult,
    ToolUse,
    Turn,
)
from backends.dialects.faults import RequestFault
from backends.dialects.pictured import image_called

ChatTurn = dict[str, Any]

ERROR = "Error: "
"""Chat Completions has no flag for a result that is an error; the words say so instead."""


def chat_turns(turn: Turn, at: str) -> Iterator[ChatTurn]:
    """One turn becomes several where it answers tool calls. Raises RequestFault."""
    if isinstance(turn.content, str):
        yield {"role": turn.role, "content": turn.content}
    elif turn.role == "system":
        yield {"role": "system", "content": content_of(list(_told(turn.content, at)))}
    elif turn.role == "assistant":
        yield _answer(turn.content, at)
    else:
        yield from _asked(turn.content, at)


def content_of(blocks: list[Text]) -> str | list[dict[str, Any]]:
    """A lone text is a string, and so is none: not every server reads a list."""
    if len(blocks) > 1:
        return [_part(block) for block in blocks]
    return blocks[0].text if blocks else ""


def _told(blocks: list[Block], at: str) -> Iterator[Text]:
    for index, block in enumerate(blocks):
        if not isinstance(block, Text):
            where = f"{at}.content[{index}]"
            raise RequestFault(f"{where}: a block of this type has no place in a turn of the system.", where)
        yield block


def _asked(blocks: list[Block], at: str) -> Iterator[ChatTurn]:
    rest: list[Text | Image] = []
    pictured: list[Image] = []
    for index, block in enumerate(blocks):
        where = f"{at}.content[{index}]"
        if isinstance(block, ToolResult):
            if rest:
                raise RequestFault(f"{where}: tool_result blocks come first in a turn.", where)
            yield {"role": "tool", "tool_call_id": block.tool_use_id, "content": _result(block, len(pictured))}
            pictured += [part for part in block.content or "" if isinstance(part, Image)]
        elif isinstance(block, Text | Image):
            rest.append(block)
        else:
            raise RequestFault(f"{where}: a block of this type has no place in a turn of the user.", where)
    rest = [*pictured, *rest]
    if rest or not blocks:
        texts = [block for block in rest if isinstance(block, Text)]
        yield {"role": "user", "content": content_of(texts) if texts == rest else [_part(block) for block in rest]}


def _result(block: ToolResult, shown: int) -> str | list[dict[str, Any]]:
    """`shown` images of results before it are the user's in the same turn."""
    parts = block.content if isinstance(block.content, list) else [Text(block.content or "")]
    numbers = count(shown + 1)
    texts = [part if isinstance(part, Text) else Text(image_called(next(numbers))) for part in parts]
    if block.is_error:
        texts = [Text(ERROR + texts[0].text), *texts[1:]] if texts else [Text(ERROR)]
    return content_of(texts)


def _answer(blocks: list[Block], at: str) -> ChatTurn:
    """Chat Completions keeps the text of a turn before its calls; thinking goes where reasoning models write it."""
    texts: list[Text] = []
    calls: list[dict[str, Any]] = []
    thoughts: list[str] = []
    for index, block in enumerate(blocks):
        if isinstance(block, Text):
            texts.append(block)
        elif isinstance(block, ToolUse):
            calls.append(_call(block))
        elif isinstance(block, Thinking):
            thoughts.append(block.thinking)
        elif not isinstance(block, RedactedThinking):
            where = f"{at}.content[{index}]"
            raise RequestFault(f"{where}: a block of this type has no place in a turn of the assistant.", where)
    content = content_of(texts) if texts else None if calls else ""
    turn: ChatTurn = {"role": "assistant", "content": content}
    if thoughts:
        turn["reasoning_content"] = "\n".join(thoughts)
    if calls:
        turn["tool_calls"] = calls
    return turn


def _call(block: ToolUse) -> dict[str, Any]:
    arguments = msgspec.json.encode(block.input).decode()
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}


def _part(block: Text | Image) -> dict[str, Any]:
    if isinstance(block, Text):
        return {"type": "text", "text": block.text}
    source = block.source
    url = f"data:{source.media_type};base64,{source.data}" if isinstance(source, Base64) else source.url
    return {"type": "image_url", "image_url": {"url": url}}
