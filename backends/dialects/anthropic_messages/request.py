"""Bytes of a Messages request -> ChatRequest, or one RequestFault that names the field.

`raw` of the request is the same in Chat Completions, which is what servers behind HTTP are asked in.
"""

import msgspec

from backends.dialects.anthropic_messages.body import Body
from backends.dialects.anthropic_messages.chat import chat_body
from backends.dialects.faults import RequestFault, decode_body
from backends.dialects.openai_chat.request import read_chat
from backends.messages import ChatRequest

_DECODER = msgspec.json.Decoder(Body)


def read_messages(raw: bytes) -> ChatRequest:
    """Raises `RequestFault`, and nothing else, whatever the bytes are.

    >>> read_messages(b'{"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}').max_tokens
    9
    """
    body = decode_body(_DECODER, raw)
    if body.max_tokens is None:
        raise RequestFault("max_tokens is required.", "max_tokens")
    if body.messages[-1].role == "assistant":
        words = "The last turn must be the user's: an answer that the client began cannot be continued here."
        raise RequestFault(words, "messages")
    return read_chat(msgspec.json.encode(chat_body(body)))


def read_to_count(raw: bytes) -> ChatRequest:
    """The same for a request that is only measured: any turn may be the last, and nothing bounds an answer."""
    return read_chat(msgspec.json.encode(chat_body(decode_body(_DECODER, raw))))
