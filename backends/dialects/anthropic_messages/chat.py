"""A Messages body as a Chat Completions body: one line for each field, each exact."""

from collections.abc import Iterator
from typing import Any

from backends.dialects.anthropic_messages.body import AnyTool, Auto, Body, Choice, NoTool, OneTool, Tool
from backends.dialects.anthropic_messages.turns import ChatTurn, chat_turns, content_of

TIERS = {"auto": "auto", "standard_only": "default"}


def chat_body(body: Body) -> dict[str, Any]:
    """Raises RequestFault. What the client left open stays open."""
    config, choice = body.output_config, body.tool_choice
    fields = {
        "model": body.model,
        "messages": [*_system(body), *_turns(body)],
        "max_tokens": body.max_tokens,
        "stream": body.stream,
        "stop": body.stop_sequences or None,
        "temperature": body.temperature,
        "top_p": body.top_p,
        "top_k": body.top_k,
        "tools": [_tool(tool) for tool in body.tools] if body.tools else None,
        "tool_choice": _choice(choice) if choice is not None else None,
        "parallel_tool_calls": False if _one_call(choice) else None,
        "response_format": _format(config.format.schema) if config and config.format else None,
        "reasoning_effort": config.effort if config else None,
        "user": body.metadata.user_id if body.metadata else None,
        "service_tier": TIERS[body.service_tier] if body.service_tier else None,
    }
    return {name: value for name, value in fields.items() if value is not None}


def _system(body: Body) -> list[ChatTurn]:
    system = body.system
    if not system:
        return []
    return [{"role": "system", "content": system if isinstance(system, str) else content_of(system)}]


def _turns(body: Body) -> Iterator[ChatTurn]:
    for index, turn in enumerate(body.messages):
        yield from chat_turns(turn, f"messages[{index}]")


def _tool(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "parameters": tool.input_schema}
    if tool.description is not None:
        function["description"] = tool.description
    if tool.strict is not None:
        function["strict"] = tool.strict
    return {"type": "function", "function": function}


def _choice(choice: Choice) -> str | dict[str, Any]:
    match choice:
        case Auto():
            return "auto"
        case AnyTool():
            return "required"
        case NoTool():
            return "none"
        case OneTool(name=name):
            return {"type": "function", "function": {"name": name}}


def _one_call(choice: Choice | None) -> bool:
    return isinstance(choice, Auto | AnyTool | OneTool) and bool(choice.disable_parallel_tool_use)


def _format(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
