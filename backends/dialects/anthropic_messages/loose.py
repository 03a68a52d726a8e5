"""What can be read of a Messages body that other dialects have no words for: enough to route it by, and to count it.

Nothing is refused for what it asks; a server of this dialect judges that, and gets the body as it came.
"""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from backends.dialects.anthropic_messages.beside import Beside
from backends.dialects.anthropic_messages.turns import ERROR
from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.body import Name, Positive
from backends.messages import ChatRequest, Message, Role, Thinking, Unmapped

Block = dict[str, Any]
NOT_BESIDE = ("text", "tool_use", "thinking", "redacted_thinking")
"""Types of blocks that are words, calls or thoughts. All others, known here or not, stand beside what is said."""

ROLES: Mapping[str, Role] = {"user": "user", "assistant": "assistant", "system": "system"}


class _Turn(msgspec.Struct):
    role: str
    content: str | list[Block]


class _Config(msgspec.Struct):
    format: dict[str, Any] | None = None
    effort: Any = None


class _Thinking(msgspec.Struct):
    type: Any = None
    budget_tokens: Any = None


class _Body(msgspec.Struct):
    model: Name
    messages: Annotated[list[_Turn], Meta(min_length=1)]
    max_tokens: Positive | None = None
    system: str | list[Block] | None = None
    stream: bool | None = None
    stop_sequences: list[str] | None = None
    tools: list[dict[str, Any]] | None = None
    output_config: _Config | None = None
    thinking: _Thinking | None = None


_DECODER = msgspec.json.Decoder(_Body)


def read_loosely(raw: bytes, fault: RequestFault) -> ChatRequest:
    """The request with `fault` as the reason why only this dialect carries it. Raises `fault` where not even so much of it
    can be read."""
    try:
        body = _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise fault from None
    return ChatRequest(
        raw=b"",
        model=body.model,
        messages=tuple(_messages(body)),
        max_tokens=body.max_tokens,
        stop=tuple(body.stop_sequences or ()),
        stream=bool(body.stream),
        tools=tuple(map(_tool, body.tools or ())),
        response_format=_format(body.output_config),
        thinking=_asked_to_think(body),
        unmapped=Unmapped(fault.message, fault.param or ""),
    )


def _messages(body: _Body) -> Iterator[Message]:
    if body.system:
        yield _message("system", _blocks(body.system))
    for turn in body.messages:
        blocks = _blocks(turn.content)
        results = [block for block in blocks if block.get("type") == "tool_result"]
        for result in results:
            yield _result(result)
        if len(results) < len(blocks):
            rest = [block for block in blocks if block.get("type") != "tool_result"]
            yield _message(ROLES.get(turn.role, "user"), rest)


def _blocks(content: object) -> list[Block]:
    if isinstance(content, list):
        return [block for block in content if isinstance(block, dict)]
    return [{"type": "text", "text": _text(content)}]


def _result(result: Block) -> Message:
    """All of it is what the tool said, documents as well."""
    found = Beside()
    found.take(result.get("content"))
    text = "\n".join(found.texts)
    return Message(
        role="tool",
        text=ERROR + text if result.get("is_error") is True else text,
        images=found.images,
        files=found.files,
        tokens=found.tokens,
        tool_call_id=_text(result.get("tool_use_id")),
    )


def _message(role: Role, blocks: list[Block]) -> Message:
    """Only blocks of text are said."""
    beside = Beside()
    beside.take([block for block in blocks if block.get("type") not in NOT_BESIDE])
    return Message(
        role=role,
        text="\n".join(text for block in blocks if block.get("type") == "text" and (text := _text(block.get("text")))),
        images=beside.images,
        files=beside.files,
        tokens=beside.tokens,
        documents="\n".join(beside.texts),
        tool_calls=tuple(_call(block) for block in blocks if block.get("type") == "tool_use"),
    )


def _call(block: Block) -> Mapping[str, Any]:
    arguments = msgspec.json.encode(block.get("input")).decode()
    return {
        "id": _text(block.get("id")),
        "type": "function",
        "function": {"name": _text(block.get("name")), "arguments": arguments},
    }


def _tool(tool: dict[str, Any]) -> Mapping[str, Any]:
    """As `chat.py` writes it, so that a prompt begins alike whatever else is asked with it."""
    schema = tool.get("input_schema")
    function = {"name": _text(tool.get("name")), "parameters": schema if isinstance(schema, dict) else {}}
    more = {name: tool[name] for name in ("description", "strict") if tool.get(name) is not None}
    return {"type": "function", "function": {**function, **more}}


def _format(config: _Config | None) -> Mapping[str, Any] | None:
    schema = (config.format or {}).get("schema") if config is not None else None
    return {"type": "json_schema", "json_schema": {"schema": schema}} if isinstance(schema, dict) else None


def _asked_to_think(body: _Body) -> Thinking:
    asked, effort = body.thinking or _Thinking(), _text(body.output_config.effort) if body.output_config else ""
    tokens = asked.budget_tokens if asked.type == "enabled" and type(asked.budget_tokens) is int else 0
    return Thinking(effort=effort, tokens=max(tokens, 0))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
