"""Pieces of JSON that both the whole response and the stream are made of."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from backends.dialects.dialect import ErrorFacts
from backends.dialects.openai_responses.listening import Listening
from backends.dialects.openai_responses.output import Item, Kind
from backends.messages import ChatRequest, Usage

Shape = dict[str, Any]

PREFIXES: Mapping[Kind, str] = {"reasoning": "rs", "text": "msg", "refusal": "msg", "call": "fc"}
PARAMS: Mapping[str, str] = {
    "messages": "input",
    "max_tokens": "max_output_tokens",
    "max_completion_tokens": "max_output_tokens",
    "response_format.json_schema": "text.format",
    "response_format": "text.format",
    "reasoning_effort": "reasoning.effort",
    "verbosity": "text.verbosity",
    "logprobs": "include",
}
"""Fields of Chat Completions that this dialect has under another name, for errors that name one. A longer one comes first."""

_ECHO = msgspec.json.Decoder(dict[str, msgspec.Raw])


class Head:
    """What all of one answer's objects say alike. `suffix` makes ids that no other request has."""

    def __init__(self, request: ChatRequest, model: str, suffix: str, created: int) -> None:
        self._suffix = suffix
        self._fields = {"id": f"resp_{suffix}", "object": "response", "created_at": created, "model": model}
        self._echo = _ECHO.decode(request.echo or b"{}")

    def item_id(self, item: Item) -> str:
        return f"{PREFIXES[item.kind]}_{self._suffix}_{item.place}"

    def begun(self) -> Shape:
        """The response before anything was said."""
        return self._response("in_progress", None, [], None)

    def ended(self, heard: Listening) -> Shape:
        items = heard.output.items
        output = [self.item(item, heard.status if item is items[-1] else "completed") for item in items]
        return self._response(heard.status, heard.why_incomplete, output, heard.usage)

    def item(self, item: Item, status: str) -> Shape:
        """An item with all that it has come to; an item in progress is shown before its first piece."""
        id, content = self.item_id(item), "" if status == "in_progress" else item.content
        if item.kind == "call":
            call = {"call_id": item.call_id, "name": item.name, "arguments": content}
            return {"id": id, "type": "function_call", "status": status, **call}
        parts = [] if status == "in_progress" else [part_of(item, content)]
        if item.kind == "reasoning":
            return {"id": id, "type": "reasoning", "status": status, "summary": [], "content": parts}
        return {"id": id, "type": "message", "status": status, "role": "assistant", "content": parts}

    def _response(self, status: str, why: str | None, output: list[Shape], usage: Usage | None) -> Shape:
        return {
            **self._fields,
            "status": status,
            "error": None,
            "incomplete_details": {"reason": why} if why else None,
            "output": output,
            "usage": usage_object(usage) if usage else None,
            **self._echo,
        }


def part_of(item: Item, content: str) -> Shape:
    """The one part of an item's content."""
    if item.kind == "reasoning":
        return {"type": "reasoning_text", "text": content}
    if item.kind == "refusal":
        return {"type": "refusal", "refusal": content}
    return {"type": "output_text", "text": content, "annotations": [], "logprobs": item.logprobs if content else []}


def usage_object(usage: Usage) -> Shape:
    """
    >>> usage_object(Usage(7, 3, 2, 1))["output_tokens_details"]
    {'reasoning_tokens': 1}
    """
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": usage.written_tokens},
        "output_tokens": usage.completion_tokens,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens},
        "total_tokens": usage.prompt_tokens + usage.completion_tokens,
    }


def own_words(error: ErrorFacts) -> tuple[str, str | None]:
    """Message and field at fault as this dialect names it; the client's own word where the fault is in its own body and its
    words begin with it. Turns have other numbers than items.

    >>> own_words(ErrorFacts(message="no", status=400, type="t", param="messages[2].content"))
    ('no', 'input')
    """
    message, param = error.message, error.param or ""
    theirs = next((name for name in PARAMS if re.match(rf"{re.escape(name)}\b", param)), "")
    is_own_word = not error.elsewhere and message.startswith(param.partition(".")[0].partition("[")[0])
    if not theirs or is_own_word:
        return message, error.param
    ours = PARAMS[theirs] + ("" if theirs == "messages" else param.removeprefix(theirs))
    return ours + message.removeprefix(param) if message.startswith(param) else message, ours
