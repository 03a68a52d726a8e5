"""A Responses body as a Chat Completions body: one line for each field, each exact."""

from collections.abc import Sequence
from typing import Any

from backends.dialects.faults import RequestFault
from backends.dialects.openai_responses.body import (
    AllowedTools,
    Body,
    Function,
    ObjectFormat,
    OneFunction,
    PlainFormat,
    SchemaFormat,
)
from backends.dialects.openai_responses.items import Item
from backends.dialects.openai_responses.turns import ChatTurn, chat_turns


def chat_body(body: Body, items: Sequence[Item]) -> dict[str, Any]:
    """`items` are those of `input`, unless that is a text. Raises RequestFault. What the client left open stays open."""
    tools = _tools(body)
    fields = {
        "model": body.model,
        "messages": [*_instructions(body), *_asked(body, items)],
        "max_tokens": body.max_output_tokens,
        "stream": body.stream,
        "temperature": body.temperature,
        "top_p": body.top_p,
        "logprobs": True if asks_logprobs(body) else None,
        "top_logprobs": body.top_logprobs if asks_logprobs(body) else None,
        "tools": [_tool(tool) for tool in tools] if tools else None,
        "tool_choice": _choice(body),
        "parallel_tool_calls": body.parallel_tool_calls,
        "response_format": _format(body),
        "verbosity": body.text.verbosity if body.text else None,
        "reasoning_effort": body.reasoning.effort if body.reasoning else None,
        "user": body.user,
        "safety_identifier": body.safety_identifier,
        "prompt_cache_key": body.prompt_cache_key,
        "prompt_cache_retention": body.prompt_cache_retention,
        "service_tier": body.service_tier,
    }
    return {name: value for name, value in fields.items() if value is not None}


def asks_logprobs(body: Body) -> bool:
    return "message.output_text.logprobs" in (body.include or ())


def _instructions(body: Body) -> list[ChatTurn]:
    return [{"role": "system", "content": body.instructions}] if body.instructions else []


def _asked(body: Body, items: Sequence[Item]) -> list[ChatTurn]:
    return [{"role": "user", "content": body.input}] if isinstance(body.input, str) else chat_turns(items)


def _tools(body: Body) -> list[Function]:
    """Those that may be called: tools that the choice leaves out are as if they were not there."""
    tools, choice = body.tools or [], body.tool_choice
    if not isinstance(choice, AllowedTools):
        return tools
    allowed = {tool.name for tool in choice.tools}
    if unknown := allowed - {tool.name for tool in tools}:
        raise RequestFault(f"tool_choice.tools names {min(unknown)!r}, which is not in tools.", "tool_choice.tools")
    return [tool for tool in tools if tool.name in allowed]


def _tool(tool: Function) -> dict[str, Any]:
    told = {"description": tool.description, "parameters": tool.parameters, "strict": tool.strict}
    function = {"name": tool.name, **{name: value for name, value in told.items() if value is not None}}
    return {"type": "function", "function": function}


def _choice(body: Body) -> str | dict[str, Any] | None:
    match body.tool_choice:
        case AllowedTools(mode=mode):
            return mode
        case OneFunction(name=name):
            return {"type": "function", "function": {"name": name}}
        case choice:
            return choice


def _format(body: Body) -> dict[str, Any] | None:
    match body.text.format if body.text else None:
        case None | PlainFormat():
            return None
        case ObjectFormat():
            return {"type": "json_object"}
        case SchemaFormat() as asked:
            told = {"description": asked.description, "strict": asked.strict}
            rest = {name: value for name, value in told.items() if value is not None}
            return {"type": "json_schema", "json_schema": {"name": asked.name, "schema": asked.schema, **rest}}
