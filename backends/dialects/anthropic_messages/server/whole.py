"""A server's answer in one piece: for a client of the same dialect as it came, for every other as a chat.completion."""

from typing import Any

import msgspec

from backends.dialects.anthropic_messages.server.counted import Counted, told_error
from backends.dialects.anthropic_messages.server.events import FINISHES, NOTHING, Block, fields_of, met, without_nulls
from backends.dialects.anthropic_messages.words import DIALECT
from backends.dialects.openai_chat.shapes import in_utf8, usage_object
from backends.dialects.openai_chat.whole import AnswerError
from backends.messages import Event, Finish, Usage, Whole


class _Message(msgspec.Struct):
    type: str = ""
    id: str = ""
    content: list[Block] | None = None
    stop_reason: str | None = None
    stop_sequence: str | None = None
    usage: msgspec.Raw = NOTHING
    error: msgspec.Raw = NOTHING


_MESSAGE = msgspec.json.Decoder(_Message)


def read_message(body: bytes) -> _Message:
    """Raises AnswerError, and ReportedError for an error object under a good status."""
    try:
        message = _MESSAGE.decode(body)
    except (msgspec.DecodeError, RecursionError) as error:
        message = without_nulls(_MESSAGE, body, f"the upstream's answer is no message: {error}")
    if bytes(message.error) not in (b"", b"null"):
        raise told_error(bytes(message.error))
    if message.content is None:
        raise AnswerError("the upstream's answer has no content")
    return message


def relayed(body: bytes, model: str) -> tuple[Event, ...]:
    """Raises as `read_message` does."""
    body = in_utf8(body)
    message = read_message(body)
    named = msgspec.json.encode({**fields_of(body), "model": model})
    finish = Finish(FINISHES.get(message.stop_reason or "", "stop"))
    return (Whole(named, DIALECT), finish, *_usage(message))


def as_completion(body: bytes, model: str, created: int) -> tuple[Event, ...]:
    """Raises as `read_message` does."""
    message = read_message(in_utf8(body))
    usage = _usage(message)
    choice = {
        "index": 0,
        "message": _spoken(message.content or []),
        "logprobs": None,
        "finish_reason": FINISHES.get(message.stop_reason or "", "stop"),
        **met(message.stop_sequence),
    }
    head = {"id": message.id, "object": "chat.completion", "created": created, "model": model}
    told = {"usage": usage_object(usage[0])} if usage else {}
    return (Whole(msgspec.json.encode({**head, "choices": [choice], **told})), *usage)


def _usage(message: _Message) -> tuple[Usage, ...]:
    counted = Counted()
    counted.take(bytes(message.usage))
    return () if counted.usage is None else (counted.usage,)


def _spoken(blocks: list[Block]) -> dict[str, Any]:
    text = "".join(block.text for block in blocks if block.type == "text")
    thinking = "".join(block.thinking for block in blocks if block.type == "thinking")
    calls = [_call(block) for block in blocks if block.type == "tool_use"]
    message: dict[str, Any] = {"role": "assistant", "content": text if text or not calls else None, "refusal": None}
    if thinking:
        message["reasoning_content"] = thinking
    if calls:
        message["tool_calls"] = calls
    return message


def _call(block: Block) -> dict[str, Any]:
    arguments = "{}" if bytes(block.input) in (b"", b"null") else bytes(block.input).decode()
    return {"id": block.id, "type": "function", "function": {"name": block.name, "arguments": arguments}}
