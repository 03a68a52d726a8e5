"""Bytes of a Responses request -> ChatRequest, or one RequestFault that names the field.

`raw` of the request is the same in Chat Completions, which is what servers behind HTTP are asked in; `echo` is what
every answer repeats of it.
"""

from typing import Any

import msgspec

from backends.dialects.faults import RequestFault, decode_past_nulls
from backends.dialects.openai_chat.request import read_chat
from backends.dialects.openai_responses.body import NEEDS_A_STORE, Body
from backends.dialects.openai_responses.chat import asks_logprobs, chat_body
from backends.dialects.openai_responses.items import read_item
from backends.messages import ChatRequest

_DECODER = msgspec.json.Decoder(Body)


def read_responses(raw: bytes) -> ChatRequest:
    """Raises `RequestFault`, and nothing else, whatever the bytes are.

    >>> read_responses(b'{"model": "m", "input": "hi"}').messages[0].text
    'hi'
    """
    body = decode_past_nulls(_DECODER, raw, depth=1)
    _refuse_unmet(body)
    items = [] if isinstance(body.input, str) else body.input
    read = [read_item(bytes(item), f"input[{index}]") for index, item in enumerate(items)]
    request = read_chat(msgspec.json.encode(chat_body(body, read)))
    return msgspec.structs.replace(request, echo=msgspec.json.encode(_echo(body)))


def _refuse_unmet(body: Body) -> None:
    for name, instead in NEEDS_A_STORE.items():
        if getattr(body, name):
            raise RequestFault(f"{name} cannot be honoured: nothing is kept here. {instead}", name)
    options = body.stream_options
    if options is not None and not body.stream:
        raise RequestFault("stream_options is only allowed together with stream: true.", "stream_options")
    if options is not None and options.include_obfuscation:
        param = "stream_options.include_obfuscation"
        raise RequestFault(f"{param} cannot be honoured: nothing is padded here.", param)
    if body.top_logprobs and not asks_logprobs(body):
        words = "top_logprobs is only allowed together with include: [message.output_text.logprobs]."
        raise RequestFault(words, "top_logprobs")


def _echo(body: Body) -> dict[str, Any]:
    """The request's own fields in an answer; of what was left open, the value that holds."""
    plain = {"type": "text"}
    text = body.text
    return {
        "background": False,
        "conversation": None,
        "instructions": body.instructions,
        "max_output_tokens": body.max_output_tokens,
        "max_tool_calls": body.max_tool_calls,
        "metadata": body.metadata or {},
        "parallel_tool_calls": body.parallel_tool_calls is not False,
        "previous_response_id": None,
        "prompt": None,
        "prompt_cache_key": body.prompt_cache_key,
        "reasoning": {"effort": body.reasoning.effort if body.reasoning else None, "summary": None},
        "safety_identifier": body.safety_identifier,
        "service_tier": body.service_tier,
        "store": False,
        "temperature": body.temperature,
        "text": {
            "format": (text.format if text else None) or plain,
            **({"verbosity": text.verbosity} if text and text.verbosity else {}),
        },
        "tool_choice": body.tool_choice or "auto",
        "tools": body.tools or [],
        "top_logprobs": body.top_logprobs or 0,
        "top_p": body.top_p,
        "truncation": "disabled",
        "user": body.user,
    }
