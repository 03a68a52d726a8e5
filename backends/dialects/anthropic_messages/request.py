"""Bytes of a Messages request -> ChatRequest, or one RequestFault that names the field.

`raw` of the request is the same in Chat Completions, which is what servers of that dialect are asked in; `native` holds the
bytes as they came, for servers of this one. What only those have words for is `unmapped`, and no fault of the request.
"""

import msgspec

from backends.dialects.anthropic_messages.body import Body, ThinkingOff, ThinkingOn
from backends.dialects.anthropic_messages.chat import chat_body
from backends.dialects.anthropic_messages.loose import read_loosely
from backends.dialects.anthropic_messages.words import DIALECT
from backends.dialects.faults import RequestFault, decode_past_nulls
from backends.dialects.openai_chat.request import read_chat
from backends.messages import ChatRequest, Native, Thinking

_DECODER = msgspec.json.Decoder(Body)

HEADERS = ("anthropic-version", "anthropic-beta")
"""They say which words of the dialect the body uses."""

QUERY = ("beta=true",)
"""So does this: Anthropic's own library asks with it for all that its `beta` part knows."""


def read_messages(raw: bytes) -> ChatRequest:
    """Raises `RequestFault`, and nothing else, whatever the bytes are.

    >>> read_messages(b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}').max_tokens
    9
    """
    request = _read(raw, may_end_with_answer=False)
    if request.max_tokens is None:
        raise RequestFault("max_tokens is required.", "max_tokens")
    return request


def read_to_count(raw: bytes) -> ChatRequest:
    """The same for a request that is only measured: any turn may be the last, and nothing bounds an answer."""
    return _read(raw, may_end_with_answer=True)


def _read(raw: bytes, *, may_end_with_answer: bool) -> ChatRequest:
    try:
        body = decode_past_nulls(_DECODER, raw, depth=1)
        if body.messages[-1].role == "assistant" and not may_end_with_answer:
            words = "The last turn must be the user's: an answer that the client began cannot be continued here."
            raise RequestFault(words, "messages")
        request = read_chat(msgspec.json.encode(chat_body(body)))
        if body.thinking is not None:
            request = msgspec.structs.replace(request, thinking=_thinking(body, request.thinking))
    except RequestFault as fault:
        request = read_loosely(raw, fault)
    native = Native(dialect=DIALECT, body=raw, carries=HEADERS, asks_with=QUERY)
    return msgspec.structs.replace(request, native=native)


def _thinking(body: Body, told: Thinking | None) -> Thinking | None:
    """With what `told` says of the effort."""
    asked = body.thinking
    if asked is None or isinstance(asked, ThinkingOff):
        return told
    tokens = asked.budget_tokens if isinstance(asked, ThinkingOn) else 0
    return Thinking(effort=told.effort if told else "", tokens=tokens, is_hidden=asked.display == "omitted")
