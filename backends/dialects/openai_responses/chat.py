"""A Responses body as a Chat Completions body: one row for each field, each exact."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from backends.dialects.faults import RequestFault
from backends.dialects.openai_responses.body import (
    AllowedTools,
    Body,
    Function,
    ObjectFormat,
    OneFunction,
    SchemaFormat,
)
from backends.dialects.openai_responses.items import Item
from backends.dialects.openai_responses.turns import chat_turns
from backends.dialects.table import Field

Write = Callable[[Body, Sequence[Item]], Mapping[str, Any]]
Row = Field[Write]

KEPT = "only what means that nothing is kept, which is what happens unasked"


def chat_body(body: Body, items: Sequence[Item]) -> dict[str, Any]:
    """`items` are those of `input`, unless that is a text. Raises RequestFault. What the client left open stays open."""
    return {name: value for row in FIELDS for name, value in row.write(body, items).items() if value is not None}


def asks_logprobs(body: Body) -> bool:
    return "message.output_text.logprobs" in (body.include or ())


def same(name: str) -> Row:
    return Field(name, name, "the same", lambda body, items: {name: getattr(body, name)})


def silent(name: str, told: str) -> Row:
    """Says nothing that another server could heed."""
    return Field(name, "", told, lambda body, items: {})


def _messages(body: Body, items: Sequence[Item]) -> Mapping[str, Any]:
    first = [{"role": "system", "content": body.instructions}] if body.instructions else []
    asked = [{"role": "user", "content": body.input}] if isinstance(body.input, str) else chat_turns(items)
    return {"messages": first + asked}


def _include(body: Body, items: Sequence[Item]) -> Mapping[str, Any]:
    return {"logprobs": True} if asks_logprobs(body) else {}


def _top_logprobs(body: Body, items: Sequence[Item]) -> Mapping[str, Any]:
    return {"top_logprobs": body.top_logprobs} if asks_logprobs(body) else {}


def _tools(body: Body, items: Sequence[Item]) -> Mapping[str, Any]:
    return {"tools": [_tool(tool) for tool in _allowed(body)] or None}


def _allowed(body: Body) -> list[Function]:
    """Tools that the choice leaves out are as if they were not there."""
    tools, choice = body.tools or [], body.tool_choice
    if not isinstance(choice, AllowedTools):
        return tools
    allowed = {tool.name for tool in choice.tools}
    if unknown := allowed - {tool.name for tool in tools}:
        raise RequestFault(f"tool_choice.tools names {min(unknown)!r}, which is not in tools.", "tool_choice.tools")
    return [tool for tool in tools if tool.name in allowed]


def _tool(tool: Function) -> dict[str, Any]:
    told = {"description": tool.description, "parameters": tool.parameters, "strict": tool.strict}
    return {"type": "function", "function": {"name": tool.name, **_stated(told)}}


def _tool_choice(body: Body, items: Sequence[Item]) -> Mapping[str, Any]:
    choice = body.tool_choice
    if isinstance(choice, AllowedTools):
        return {"tool_choice": choice.mode}
    if isinstance(choice, OneFunction):
        return {"tool_choice": {"type": "function", "function": {"name": choice.name}}}
    return {"tool_choice": choice}


def _text(body: Body, items: Sequence[Item]) -> Mapping[str, Any]:
    if body.text is None:
        return {}
    verbosity = {"verbosity": body.text.verbosity}
    match body.text.format:
        case ObjectFormat():
            return {"response_format": {"type": "json_object"}, **verbosity}
        case SchemaFormat() as asked:
            rest = _stated({"description": asked.description, "strict": asked.strict})
            form = {"type": "json_schema", "json_schema": {"name": asked.name, "schema": asked.schema, **rest}}
            return {"response_format": form, **verbosity}
        case _:
            return verbosity


def _stated(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


FIELDS: tuple[Row, ...] = (
    same("model"),
    Field("input", "messages", "a text is the user's turn; of items see below", _messages),
    silent("instructions", "a first turn of role `system`"),
    Field(
        "max_output_tokens", "max_tokens", "the same", lambda body, items: {"max_tokens": body.max_output_tokens}
    ),
    same("stream"),
    silent("stream_options", "no padding (`include_obfuscation`), which is what happens unasked"),
    same("temperature"),
    same("top_p"),
    Field("include", "logprobs", "`message.output_text.logprobs`; `reasoning.encrypted_content` is left out: nothing is "
          "encrypted", _include),
    Field("top_logprobs", "top_logprobs", "the same, with `include`", _top_logprobs),
    Field("tools", "tools", "of type `function`", _tools),
    Field("tool_choice", "tool_choice", "the same; `allowed_tools` is its `mode` among these tools alone", _tool_choice),
    same("parallel_tool_calls"),
    silent("max_tool_calls", "left out: it bounds calls of hosted tools, and there are none"),
    Field("text", "response_format, verbosity", "`format`, a `json_schema` with its name; `verbosity`", _text),
    Field(
        "reasoning",
        "reasoning_effort",
        "`effort`; `summary: auto` is left out, for thought is told whole",
        lambda body, items: {"reasoning_effort": body.reasoning.effort if body.reasoning else None},
    ),
    silent("truncation", "only `disabled`, which is what happens unasked"),
    silent("metadata", "left out: the response carries it"),
    silent("client_metadata", "left out: what a client, as Codex, tells its own service of itself"),
    same("user"),
    same("safety_identifier"),
    same("prompt_cache_key"),
    same("prompt_cache_retention"),
    same("service_tier"),
    silent("store", KEPT),
    silent("background", KEPT),
    silent("previous_response_id", KEPT),
    silent("conversation", KEPT),
    silent("prompt", KEPT),
)  # fmt: skip
