"""What a server of this dialect is asked: the client's own body where it is in the dialect, else one from the table."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from backends.dialects.anthropic_messages.server.fields import BY_NAME, no_words
from backends.dialects.anthropic_messages.server.thoughtless import forget_thinking
from backends.dialects.anthropic_messages.words import DIALECT
from backends.dialects.faults import RequestFault
from backends.dialects.openai_chat.forward import EFFORT, SALT
from backends.messages import Asks, ChatRequest, Unmapped

BARE: Mapping[Asks, str] = MappingProxyType({"completions": "prompt", "embeddings": "input"})
"""What is asked in no turns, and the field that holds it."""

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TURNS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_BLOCKS = msgspec.json.Decoder(list[msgspec.Raw])
THINKING = b'"thinking"'
ASKS_TO_THINK = ("thinking", EFFORT)
"""Fields of Chat Completions."""


class _Thought(msgspec.Struct):
    type: str = ""
    signature: str | None = None


_THOUGHT = msgspec.json.Decoder(_Thought)


def asked_of(request: ChatRequest, serves: str, output_tokens: int, *, thinks: bool = True) -> bytes:
    """`serves` is the server's name for the model, `output_tokens` its limit where the client states none. Unless it `thinks`,
    it is not told how much it should.

    Raises RequestFault.
    """
    native = request.native
    if native is not None and native.dialect == DIALECT:
        return with_model(native.body, serves, thinks=thinks)
    return msgspec.json.encode({"model": serves, **mapped(request, output_tokens, thinks=thinks)})


def with_model(body: bytes, serves: str, *, thinks: bool = True) -> bytes:
    """Every other field as it was written, but the one that is not the client's to say, and thoughts that nobody signed."""
    fields = _FIELDS.decode(body)
    fields.pop(SALT, None)
    if not thinks:
        forget_thinking(fields)
    if THINKING in body:
        fields["messages"] = _signed(fields["messages"])
    return msgspec.json.encode({**fields, "model": serves})


def _signed(messages: msgspec.Raw) -> msgspec.Raw:
    """Models of other dialects sign no thoughts, which clients keep in the conversation. Servers of this one refuse it then."""
    if THINKING not in bytes(messages):
        return messages
    turns, changed = _TURNS.decode(messages), False
    for turn in turns:
        content = bytes(turn["content"])
        if THINKING not in content or not content.startswith(b"["):
            continue
        blocks = _BLOCKS.decode(content)
        kept = [block for block in blocks if not _is_unsigned(block)]
        if len(kept) < len(blocks):
            turn["content"], changed = msgspec.Raw(msgspec.json.encode(kept)), True
    return msgspec.Raw(msgspec.json.encode(turns)) if changed else messages


def _is_unsigned(block: msgspec.Raw) -> bool:
    try:
        thought = _THOUGHT.decode(block)
    except (msgspec.DecodeError, RecursionError):
        return False
    return thought.type == "thinking" and not thought.signature


def mapped(request: ChatRequest, output_tokens: int, *, thinks: bool = True) -> dict[str, Any]:
    """Raises RequestFault."""
    if request.asks in BARE:
        raise no_words(BARE[request.asks])
    if request.unmapped is not None:
        raise RequestFault(request.unmapped.message, request.unmapped.param)
    made: dict[str, Any] = {}
    for name, raw in _FIELDS.decode(request.raw).items():
        if bytes(raw) == b"null" or (name in ASKS_TO_THINK and not thinks):
            continue
        if name not in BY_NAME:
            raise no_words(name)
        for key, value in BY_NAME[name].write(raw, name).items():
            made[key] = {**made[key], **value} if isinstance(value, dict) and key in made else value
    return _with_choice({**made, "max_tokens": request.max_tokens or output_tokens})


def _with_choice(made: dict[str, Any]) -> dict[str, Any]:
    """Without tools nothing is to be chosen, and where no call may come, nothing is to be said of two."""
    choice = made.pop("tool_choice", None)
    if choice is None or "tools" not in made:
        return made
    choice = {"type": "auto", **choice}
    if choice["type"] == "none":
        choice.pop("disable_parallel_tool_use", None)
    return {**made, "tool_choice": choice}


def fault_of(request: ChatRequest) -> Unmapped | None:
    """Why a server of this dialect cannot be asked this."""
    if request.native is not None and request.native.dialect == DIALECT:
        return None
    try:
        mapped(request, 1)
    except RequestFault as fault:
        return Unmapped(fault.message, fault.param or "")
    return None
