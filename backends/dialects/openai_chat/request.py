"""Bytes of a Chat Completions request -> ChatRequest, or one RequestFault that names the field.

Of equal keys in an object the last one counts, here as in what is forwarded.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from backends.dialects.faults import RequestFault, decode_body
from backends.dialects.openai_chat.body import Body, Part, Turn
from backends.dialects.openai_chat.documents import documents_in
from backends.messages import ChatRequest, Message, Sampling, SamplingChoice, Thinking, ToolChoice

_DECODER = msgspec.json.Decoder(Body)
_SEED_MASK = (1 << 63) - 1
_LEFT_OPEN: Mapping[tuple[bool, bool], frozenset[SamplingChoice]] = {
    (True, True): frozenset(("temperature", "top_p")),
    (True, False): frozenset(("temperature",)),
    (False, True): frozenset(("top_p",)),
    (False, False): frozenset(),
}
"""By what was not stated: the temperature, top_p."""


def read_chat(raw: bytes) -> ChatRequest:
    """Raises `RequestFault`, and nothing else, whatever the bytes are.

    >>> read_chat(b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}').messages[0].text
    'hi'
    """
    body = decode_body(_DECODER, raw)
    if body.stream_options is not None and not body.stream:
        raise RequestFault("stream_options is only allowed together with stream: true.", "stream_options")
    if body.top_logprobs and not body.logprobs:
        raise RequestFault("top_logprobs is only allowed together with logprobs: true.", "top_logprobs")
    return ChatRequest(
        raw=raw,
        model=body.model,
        messages=_messages(body.messages),
        sampling=_sampling(body),
        left_open=_LEFT_OPEN[body.temperature is None, body.top_p is None],
        max_tokens=body.max_completion_tokens or body.max_tokens,
        stop=(body.stop,) if type(body.stop) is str else tuple(body.stop or ()),
        stream=bool(body.stream),
        include_usage=bool(body.stream_options and body.stream_options.include_usage),
        n=body.n or 1,
        tools=tuple([_tool(tool, f"tools[{place}]") for place, tool in enumerate(body.tools)]) if body.tools else (),
        tool_choice="auto" if body.tool_choice is None else _tool_choice(body.tool_choice),
        parallel_tool_calls=body.parallel_tool_calls is not False,
        response_format=None if body.response_format is None else _response_format(body.response_format),
        thinking=None
        if body.reasoning_effort is body.thinking is None
        else _thinking(body.reasoning_effort, body.thinking),
    )


def _messages(turns: list[Turn]) -> tuple[Message, ...]:
    messages: list[Message] = []
    for turn in turns:
        text = turn.content
        if type(text) is not str or turn.role == "tool" or turn.tool_calls is not None or turn.role == "function":
            messages.append(_message(turn, f"messages[{len(messages)}]"))
        elif turn.name is None and turn.tool_call_id is None:
            messages.append(Message(role=turn.role, text=text))
        else:
            messages.append(
                Message(role=turn.role, text=text, tool_call_id=turn.tool_call_id or "", name=turn.name or "")
            )
    return tuple(messages)


def _message(turn: Turn, at: str) -> Message:
    if turn.role == "tool" and not turn.tool_call_id:
        raise RequestFault(f"{at}.tool_call_id is required for a message of role tool.", f"{at}.tool_call_id")
    if turn.content is None and turn.role not in ("assistant", "function"):
        raise RequestFault(f"{at}.content is required for a message of role {turn.role}.", f"{at}.content")
    parts = turn.content if isinstance(turn.content, list) else []
    kinds = [part.type for part in parts]
    images, audio = kinds.count("image_url"), kinds.count("input_audio")
    calls = enumerate(turn.tool_calls or ())
    older = ({"type": "function", "function": turn.function_call},) if turn.function_call else ()
    read = documents_in(parts) if "file" in kinds else ()
    return Message(
        role="tool" if turn.role == "function" else turn.role,
        text=turn.content if isinstance(turn.content, str) else _joined(parts, f"{at}.content"),
        images=images,
        audio=audio,
        files=len(kinds) - images - audio - kinds.count("text") - kinds.count("refusal"),
        files_read=len(read),
        documents="\n".join(read),
        tool_calls=(*older, *(_tool_call(call, f"{at}.tool_calls[{index}]") for index, call in calls)),
        tool_call_id=turn.tool_call_id or "",
        name=turn.name or "",
    )


def _joined(parts: list[Part], at: str) -> str:
    texts = []
    for index, part in enumerate(parts):
        if part.type == "text":
            if part.text is None:
                raise RequestFault(f"{at}[{index}].text is required for a part of type text.", f"{at}[{index}].text")
            texts.append(part.text)
    return "\n".join(texts)


def _tool_call(call: dict[str, Any], at: str) -> Mapping[str, Any]:
    function = call.get("function")
    if not isinstance(call.get("id"), str | None):
        raise RequestFault(f"{at}.id must be a string.", f"{at}.id")
    if call.get("type", "function") == "function":
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise RequestFault(f"{at}.function needs a name.", f"{at}.function.name")
        if not isinstance(function.get("arguments"), str):
            raise RequestFault(f"{at}.function.arguments must be a string of JSON.", f"{at}.function.arguments")
    return call


def _tool(tool: dict[str, Any], at: str) -> Mapping[str, Any]:
    if not isinstance(tool.get("type"), str):
        raise RequestFault(f"{at}.type is required.", f"{at}.type")
    function = tool.get("function")
    if tool["type"] == "function" and not (isinstance(function, dict) and isinstance(function.get("name"), str)):
        raise RequestFault(f"{at}.function.name is required.", f"{at}.function.name")
    return tool


def _tool_choice(value: object) -> ToolChoice:
    """What is no choice known here is the upstream's to judge: it gets the body as it came."""
    if isinstance(value, dict):
        return "function"
    return "none" if value == "none" else "required" if value == "required" else "auto"


def _response_format(value: dict[str, Any]) -> Mapping[str, Any]:
    if not isinstance(value.get("type"), str):
        raise RequestFault("response_format.type is required.", "response_format.type")
    schema = value.get("json_schema")
    if value["type"] == "json_schema" and not isinstance(schema, dict):
        raise RequestFault("response_format.json_schema is required.", "response_format.json_schema")
    return value


def _thinking(effort: object, asked: object) -> Thinking | None:
    """By the word, or as this dialect's clients ask servers that think: `thinking: {type: enabled}`, perhaps with a budget.
    What is neither is the upstream's to judge."""
    if effort is not None:
        return Thinking(effort=effort if isinstance(effort, str) else "other", tokens=_budget(asked))
    if not isinstance(asked, dict) or asked.get("type") != "enabled":
        return None
    return Thinking(effort="" if _budget(asked) else "other", tokens=_budget(asked))


def _budget(asked: object) -> int:
    budget = asked.get("budget_tokens") if isinstance(asked, dict) and asked.get("type") == "enabled" else 0
    return budget if type(budget) is int and budget > 0 else 0


def _sampling(body: Body) -> Sampling:
    return Sampling(
        temperature=1.0 if body.temperature is None else body.temperature,
        top_p=1.0 if body.top_p is None else body.top_p,
        top_k=0 if body.top_k is None or body.top_k < 0 else body.top_k,
        min_p=body.min_p or 0.0,
        seed=None if body.seed is None else body.seed & _SEED_MASK,
        presence_penalty=body.presence_penalty or 0.0,
        frequency_penalty=body.frequency_penalty or 0.0,
        repetition_penalty=body.repetition_penalty or 1.0,
        logit_bias=body.logit_bias or {},
        logprobs=bool(body.logprobs),
        top_logprobs=body.top_logprobs or 0,
    )
