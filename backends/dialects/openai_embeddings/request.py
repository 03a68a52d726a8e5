"""Bytes of an Embeddings request -> ChatRequest whose messages are the inputs, or one RequestFault that names the field.

What is not named here (`encoding_format`, `dimensions`, `user`, a server's own fields) travels in the raw body, unread.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from backends.dialects.faults import RequestFault, decode_body
from backends.dialects.openai_chat.body import Name
from backends.messages import ChatRequest, Message

TokenIds = Annotated[list[Annotated[int, Meta(ge=0)]], Meta(min_length=1)]
"""One text as a tokenizer of the client's own cut it."""


class _Body(msgspec.Struct):
    model: Name
    input: msgspec.Raw
    stream: bool | None = None


_BODY = msgspec.json.Decoder(_Body)
_TEXTS = msgspec.json.Decoder(str | Annotated[list[str], Meta(min_length=1)])
_IDS = msgspec.json.Decoder(TokenIds)
_MANY_IDS = msgspec.json.Decoder(Annotated[list[TokenIds], Meta(min_length=1)])

SHAPES = "input is a text, a list of texts, a list of token ids, or a list of such lists, and not empty."


def read_embeddings(raw: bytes) -> ChatRequest:
    """Raises `RequestFault`, and nothing else, whatever the bytes are.

    >>> [turn.text for turn in read_embeddings(b'{"model": "m", "input": ["a", "b"]}').messages]
    ['a', 'b']
    """
    body = decode_body(_BODY, raw)
    if body.stream:
        raise RequestFault("stream is not for embeddings: they come in one piece.", "stream")
    return ChatRequest(raw=raw, model=body.model, messages=tuple(_inputs(bytes(body.input))), asks="embeddings")


def _inputs(raw: bytes) -> Iterator[Message]:
    """A bracket tells lists of ids from lists of texts, so that a long list is read once."""
    start = raw[1:].lstrip() if raw.startswith(b"[") else raw
    try:
        if start[:1] == b"[":
            yield from (Message(role="user", tokens=len(ids)) for ids in _MANY_IDS.decode(raw))
        elif start[:1] == b'"':
            found = _TEXTS.decode(raw)
            yield from (Message(role="user", text=text) for text in ([found] if isinstance(found, str) else found))
        else:
            yield Message(role="user", tokens=len(_IDS.decode(raw)))
    except msgspec.DecodeError:
        raise RequestFault(SHAPES, "input") from None
