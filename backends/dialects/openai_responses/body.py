"""The body of a Responses request as msgspec checks it. A field that is not named here is refused by its name.

What stands here is what `chat.py` maps; the README has it as a table. Every optional field may be null.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from backends.dialects.openai_chat.body import Chance, Name, Positive

Effort = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
Include = Literal["message.output_text.logprobs", "reasoning.encrypted_content"]
Short = Annotated[str, Meta(max_length=64)]
Value = Annotated[str, Meta(max_length=512)]


class Function(msgspec.Struct, tag="function", forbid_unknown_fields=True):
    name: str
    description: str | None = None
    parameters: dict[str, Any] | None = None
    strict: bool | None = None


class OneFunction(msgspec.Struct, tag="function", forbid_unknown_fields=True):
    name: str


class AllowedTools(msgspec.Struct, tag="allowed_tools", forbid_unknown_fields=True):
    mode: Literal["auto", "required"]
    tools: Annotated[list[OneFunction], Meta(min_length=1)]


Choice = Literal["auto", "none", "required"] | OneFunction | AllowedTools


class PlainFormat(msgspec.Struct, tag="text", forbid_unknown_fields=True):
    pass


class ObjectFormat(msgspec.Struct, tag="json_object", forbid_unknown_fields=True):
    pass


class SchemaFormat(msgspec.Struct, tag="json_schema", forbid_unknown_fields=True):
    name: str
    schema: dict[str, Any]
    description: str | None = None
    strict: bool | None = None


class Text(msgspec.Struct, forbid_unknown_fields=True):
    format: PlainFormat | ObjectFormat | SchemaFormat | None = None
    verbosity: Literal["low", "medium", "high"] | None = None


class Reasoning(msgspec.Struct, forbid_unknown_fields=True):
    """What is thought is told whole, so there is no summary of it: `auto` asks for the best there is."""

    effort: Effort | None = None
    summary: Literal["auto"] | None = None
    generate_summary: Literal["auto"] | None = None


class StreamOptions(msgspec.Struct, forbid_unknown_fields=True):
    include_obfuscation: bool | None = None


class Body(msgspec.Struct, forbid_unknown_fields=True):
    model: Name
    input: str | Annotated[list[msgspec.Raw], Meta(min_length=1)]
    instructions: str | None = None
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    max_output_tokens: Positive | None = None
    temperature: Annotated[float, Meta(ge=0, le=2)] | None = None
    top_p: Chance | None = None
    top_logprobs: Annotated[int, Meta(ge=0, le=20)] | None = None
    include: list[Include] | None = None
    tools: list[Function] | None = None
    tool_choice: Choice | None = None
    parallel_tool_calls: bool | None = None
    max_tool_calls: Positive | None = None
    text: Text | None = None
    reasoning: Reasoning | None = None
    truncation: Literal["disabled"] | None = None
    metadata: Annotated[dict[Short, Value], Meta(max_length=16)] | None = None
    client_metadata: Any = None
    user: str | None = None
    safety_identifier: str | None = None
    prompt_cache_key: str | None = None
    prompt_cache_retention: str | None = None
    service_tier: str | None = None
    store: bool | None = None
    background: bool | None = None
    previous_response_id: Any = None
    conversation: Any = None
    prompt: Any = None


NEEDS_A_STORE: Mapping[str, str] = MappingProxyType(
    {
        "store": "Leave it out, or say false.",
        "background": "Ask without it, and read the answer as it comes.",
        "previous_response_id": "Send the whole conversation as input.",
        "conversation": "Send the whole conversation as input.",
        "prompt": "Send the text itself.",
    }
)
"""Fields that mean something only where answers, conversations or prompts are kept, and what to do without them."""
