"""The body of a Messages request as msgspec checks it, as far as another dialect has words for it.

What stands here is what `chat.py` and `turns.py` map. Every optional field may be null. The docstrings of blocks are what
`MAPPING.md` says of them.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from backends.dialects.openai_chat.body import Chance, Name, Positive

CacheControl = dict[str, Any] | None
"""A hint that changes no answer: where prefixes are kept, they are kept unasked."""


class Text(msgspec.Struct, tag="text", forbid_unknown_fields=True):
    """`content`: a lone one a string, several a list of parts"""

    text: str
    cache_control: CacheControl = None
    citations: Annotated[list[Any], Meta(max_length=0)] | None = None


class Base64(msgspec.Struct, tag="base64", forbid_unknown_fields=True):
    data: str
    media_type: Literal["image/jpeg", "image/png", "image/gif", "image/webp"]


class Url(msgspec.Struct, tag="url", forbid_unknown_fields=True):
    url: str


class Image(msgspec.Struct, tag="image", forbid_unknown_fields=True):
    """a part `image_url`; `base64` as a data URL"""

    source: Base64 | Url
    cache_control: CacheControl = None


class Thinking(msgspec.Struct, tag="thinking", forbid_unknown_fields=True):
    """`reasoning_content`; its signature means nothing to other models. An engine in this process does not read it"""

    thinking: str
    signature: str = ""


class RedactedThinking(msgspec.Struct, tag="redacted_thinking", forbid_unknown_fields=True):
    """left out: only the model that wrote it can read it"""

    data: str


class Direct(msgspec.Struct, tag="direct", forbid_unknown_fields=True):
    """The model itself called, which is what happens unasked."""


class ToolUse(msgspec.Struct, tag="tool_use", forbid_unknown_fields=True):
    """`tool_calls`"""

    id: str
    name: str
    input: dict[str, Any]
    cache_control: CacheControl = None
    caller: Direct | None = None
    toolset_name: None = None


class ToolResult(msgspec.Struct, tag="tool_result", forbid_unknown_fields=True):
    """a turn of role `tool`; `image` is `[image 1]` there and the user's after it; with `is_error` it begins `Error: `"""

    tool_use_id: Annotated[str, Meta(min_length=1)]
    content: str | list[Text | Image] | None = None
    is_error: bool | None = None
    cache_control: CacheControl = None


Block = Text | Image | Thinking | RedactedThinking | ToolUse | ToolResult


class Turn(msgspec.Struct, forbid_unknown_fields=True):
    role: Literal["user", "assistant", "system"]
    content: str | list[Block]


class Tool(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    input_schema: dict[str, Any]
    description: str | None = None
    type: Literal["custom"] | None = None
    strict: bool | None = None
    eager_input_streaming: bool | None = None
    """Of a call's arguments: how they are streamed anyway. Vercel's AI SDK asks for it with every tool."""
    cache_control: CacheControl = None


class Auto(msgspec.Struct, tag="auto", forbid_unknown_fields=True):
    disable_parallel_tool_use: bool | None = None


class AnyTool(msgspec.Struct, tag="any", forbid_unknown_fields=True):
    disable_parallel_tool_use: bool | None = None


class OneTool(msgspec.Struct, tag="tool", forbid_unknown_fields=True):
    name: str
    disable_parallel_tool_use: bool | None = None


class NoTool(msgspec.Struct, tag="none", forbid_unknown_fields=True):
    pass


Choice = Auto | AnyTool | OneTool | NoTool


class ThinkingOff(msgspec.Struct, tag="disabled", forbid_unknown_fields=True):
    pass


Display = Literal["summarized", "omitted"]
"""Whether thoughts are told. Other models have no other words for them than their own, which are told whole."""

Tokens = Annotated[int, Meta(ge=0)]


class ThinkingAdaptive(msgspec.Struct, tag="adaptive", forbid_unknown_fields=True):
    """The model thinks as much as it sees fit, which is what it does unasked; a budget beside that says nothing."""

    display: Display | None = None
    budget_tokens: Tokens | None = None


class ThinkingOn(msgspec.Struct, tag="enabled", forbid_unknown_fields=True):
    budget_tokens: Tokens
    display: Display | None = None


class ClearThinking(msgspec.Struct, tag="clear_thinking_20251015"):
    """Of earlier turns, before the model reads them."""


class ClearResults(msgspec.Struct, tag="clear_tool_uses_20250919"):
    """Of tools, once the conversation is long."""


class ContextManagement(msgspec.Struct, forbid_unknown_fields=True):
    """It saves tokens of what a model of this dialect reads. Others read all that they are given."""

    edits: list[ClearThinking | ClearResults] | None = None


class Format(msgspec.Struct, tag="json_schema", forbid_unknown_fields=True):
    schema: dict[str, Any]


class OutputConfig(msgspec.Struct, forbid_unknown_fields=True):
    effort: Literal["low", "medium", "high", "xhigh", "max"] | None = None
    format: Format | None = None


class Metadata(msgspec.Struct, forbid_unknown_fields=True):
    user_id: str | None = None


class Body(msgspec.Struct, forbid_unknown_fields=True):
    model: Name
    messages: Annotated[list[Turn], Meta(min_length=1)]
    max_tokens: Positive | None = None
    system: str | list[Text] | None = None
    stream: bool | None = None
    stop_sequences: Annotated[list[str], Meta(max_length=4)] | None = None
    temperature: Chance | None = None
    top_p: Chance | None = None
    top_k: Annotated[int, Meta(ge=0)] | None = None
    tools: list[Tool] | None = None
    tool_choice: Choice | None = None
    thinking: ThinkingOff | ThinkingAdaptive | ThinkingOn | None = None
    context_management: ContextManagement | None = None
    output_config: OutputConfig | None = None
    metadata: Metadata | None = None
    service_tier: Literal["auto", "standard_only"] | None = None
    cache_control: CacheControl = None
