"""The body of a Chat Completions request as msgspec checks it: types and ranges are data here, not code.

Every optional field may be null. Fields that are not named here travel in the raw body, unread.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from backends.messages import Role

LONGEST_NAME = 256

Name = Annotated[str, Meta(max_length=LONGEST_NAME)]
"""Of a model: it stands in answers, headers, spans and logs."""

Positive = Annotated[int, Meta(ge=1)]
Penalty = Annotated[float, Meta(ge=-2, le=2)]
Chance = Annotated[float, Meta(ge=0, le=1)]
Factor = Annotated[float, Meta(ge=0.01, le=100)]
"""What logits may be multiplied or divided by and still be numbers of single precision."""


NOTHING = msgspec.Raw()


class Part(msgspec.Struct):
    """One part of a message's content; `text` is required for type text only. A `file` is long, and read later if
    at all."""

    type: str
    text: str | None = None
    file: msgspec.Raw = NOTHING


class Turn(msgspec.Struct):
    """`function` and `function_call` are how calls and their results were told before there were tools."""

    role: Role | Literal["function"]
    content: str | list[Part] | None = None
    tool_calls: list[dict[str, Any]] | None = None
    tool_call_id: str | None = None
    name: str | None = None
    function_call: dict[str, Any] | None = None


class StreamOptions(msgspec.Struct):
    include_usage: bool | None = None


class Body(msgspec.Struct):
    model: Name
    messages: Annotated[list[Turn], Meta(min_length=1)]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_tokens: Positive | None = None
    max_completion_tokens: Positive | None = None
    n: Annotated[int, Meta(ge=1, le=128)] | None = None
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
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    tools: list[dict[str, Any]] | None = None
    tool_choice: Any = None
    parallel_tool_calls: Any = None
    response_format: dict[str, Any] | None = None
    reasoning_effort: Any = None
    thinking: Any = None
