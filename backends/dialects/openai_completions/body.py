"""The body of a Completions request as msgspec checks it, with its prompts.

Every optional field may be null. Fields that are not named here travel in the raw body, unread.
"""

from collections.abc import Iterator
from typing import Annotated

import msgspec
from msgspec import Meta

from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.body import Chance, Factor, Name, Penalty, StreamOptions
from backends.messages import Message

TokenIds = Annotated[tuple[Annotated[int, Meta(ge=0, lt=1 << 31)], ...], Meta(min_length=1)]
"""A text as a tokenizer of the client's own cut it."""

PLAIN_TOKENS = 16
"""The dialect's own limit of an answer, where a request states none."""

SHAPES = "prompt is a text, a list of texts, a list of token ids, or a list of such lists, and not empty."

_TEXTS = msgspec.json.Decoder(str | Annotated[list[str], Meta(min_length=1)])
_IDS = msgspec.json.Decoder(TokenIds)
_MANY_IDS = msgspec.json.Decoder(Annotated[list[TokenIds], Meta(min_length=1)])


class Body(msgspec.Struct):
    model: Name
    prompt: msgspec.Raw = msgspec.Raw(b"null")
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Annotated[int, Meta(ge=0)] | None = None
    n: Annotated[int, Meta(ge=1, le=128)] | None = None
    best_of: int | None = None
    echo: bool | None = None
    suffix: str | None = None
    logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    stop: str | Annotated[list[str], Meta(max_length=4)] | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Chance | None = None
    top_k: Annotated[int, Meta(ge=-1)] | None = None
    min_p: Chance | None = None
    seed: int | None = None
    presence_penalty: Penalty | None = None
    frequency_penalty: Penalty | None = None
    repetition_penalty: Factor | None = None
    logit_bias: dict[int, Annotated[float, Meta(ge=-100, le=100)]] | None = None


def prompts_of(raw: bytes) -> Iterator[Message]:
    """One message for each prompt. A bracket tells lists of ids from lists of texts, so that a long list is read once.

    Raises RequestFault.
    """
    start = raw[1:].lstrip() if raw.startswith(b"[") else raw
    try:
        if start[:1] == b"[":
            yield from map(_of_ids, _MANY_IDS.decode(raw))
        elif start[:1] == b'"':
            found = _TEXTS.decode(raw)
            yield from (Message(role="user", text=text) for text in ([found] if isinstance(found, str) else found))
        else:
            yield _of_ids(_IDS.decode(raw))
    except msgspec.DecodeError:
        raise RequestFault(SHAPES, "prompt") from None


def _of_ids(ids: tuple[int, ...]) -> Message:
    return Message(role="user", tokens=len(ids), token_ids=ids)
