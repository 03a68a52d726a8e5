"""A Messages body as a Chat Completions body: one row for each field, each exact."""

from collections.abc import Callable, Iterator, Mapping
from hashlib import sha256
from typing import Any

from backends.dialects.anthropic_messages.body import AnyTool, Auto, Body, Choice, NoTool, OneTool, Tool
from backends.dialects.anthropic_messages.turns import ChatTurn, chat_turns, content_of
from backends.dialects.table import Field

Write = Callable[[Body], Mapping[str, Any]]
Row = Field[Write]

LONGEST_USER = 64
"""Characters of an id that servers take at most; Anthropic's own clients send longer ones."""

TIERS = {"auto": "auto", "standard_only": "default"}


def chat_body(body: Body) -> dict[str, Any]:
    """Raises RequestFault. What the client left open stays open."""
    return {name: value for row in FIELDS for name, value in row.write(body).items() if value is not None}


def same(name: str, told: str = "the same") -> Row:
    return Field(name, name, told, lambda body: {name: getattr(body, name)})


def silent(name: str, told: str) -> Row:
    """Says nothing that another server could heed."""
    return Field(name, "", told, lambda body: {})


def _messages(body: Body) -> Mapping[str, Any]:
    return {"messages": [*_system(body), *_turns(body)]}


def _system(body: Body) -> list[ChatTurn]:
    system = body.system
    if not system:
        return []
    return [{"role": "system", "content": system if isinstance(system, str) else content_of(system)}]


def _turns(body: Body) -> Iterator[ChatTurn]:
    for index, turn in enumerate(body.messages):
        yield from chat_turns(turn, f"messages[{index}]")


def _tools(body: Body) -> Mapping[str, Any]:
    return {"tools": [_tool(tool) for tool in body.tools] if body.tools else None}


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.input_schema}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _tool_choice(body: Body) -> Mapping[str, Any]:
    choice = body.tool_choice
    if choice is None:
        return {}
    alone = isinstance(choice, Auto | AnyTool | OneTool) and choice.disable_parallel_tool_use
    return {"tool_choice": _chosen(choice), "parallel_tool_calls": False if alone else None}


def _chosen(choice: Choice) -> str | dict[str, Any]:
    match choice:
        case Auto():
            return "auto"
        case AnyTool():
            return "required"
        case NoTool():
            return "none"
        case OneTool(name=name):
            return {"type": "function", "function": {"name": name}}


def _output_config(body: Body) -> Mapping[str, Any]:
    config = body.output_config
    if config is None:
        return {}
    format = _format(config.format.schema) if config.format is not None else None
    return {"response_format": format, "reasoning_effort": config.effort}


def _user(body: Body) -> Mapping[str, Any]:
    user = body.metadata.user_id if body.metadata is not None else None
    if user is None or len(user) <= LONGEST_USER:
        return {"user": user}
    return {"user": sha256(user.encode("utf-8", "surrogatepass")).hexdigest()}


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}


FIELDS: tuple[Row, ...] = (
    same("model"),
    Field("messages", "messages", "turns, the last of which is the user's; see below", _messages),
    silent("system", "a first turn of role `system`"),
    same("max_tokens", "the same; it is required, but not for counting"),
    same("stream"),
    Field("stop_sequences", "stop", "the same, four at most", lambda body: {"stop": body.stop_sequences or None}),
    same("temperature"),
    same("top_p"),
    same("top_k"),
    Field("tools", "tools", "of type `custom`: functions; `eager_input_streaming` is what happens unasked", _tools),
    Field(
        "tool_choice",
        "tool_choice, parallel_tool_calls",
        "`any` is `required`, `tool` the named function",
        _tool_choice,
    ),
    silent(
        "thinking",
        "`disabled` and `adaptive` are what happens unasked; `enabled` is `reasoning_effort` for models that are known "
        "to think (`low` below 4,096 tokens, `medium` below 16,384, else `high`), and left out for others; with "
        "`display: omitted` no thought is told",
    ),
    Field(
        "output_config",
        "response_format, reasoning_effort",
        "`format` is a strict `json_schema`, `effort` the same",
        _output_config,
    ),
    Field("metadata", "user", "`user_id`; of one longer than 64 characters the SHA-256, since servers bound it", _user),
    Field(
        "service_tier",
        "service_tier",
        "`auto`, and `default` for `standard_only`",
        lambda body: {"service_tier": TIERS[body.service_tier] if body.service_tier is not None else None},
    ),
    silent("cache_control", "left out: prefixes are kept unasked"),
    silent("context_management", "what clears thoughts or results of tools is left out: all that is given is read"),
)
