"""The client's body as it goes to an upstream of the same dialect: the bytes of every field, but for a few.

Fields are spliced as raw JSON, never decoded: 1.0 stays 1.0, an integer of thirty digits stays itself, and a field
that we have never heard of arrives as it was written.
"""

from typing import Literal

import msgspec

from backends.dialects.openai_chat.shapes import as_json
from backends.messages import ChatRequest, Thinking

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_TURNS = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
NEWER, OLDER = "max_completion_tokens", "max_tokens"
"""Two names of one limit."""

SALT = "cache_salt"
"""Names the cache that a prompt may be answered from. Whose that is, is not the client's to say."""

EFFORT = "reasoning_effort"

EFFORTS = ((4_096, "low"), (16_384, "medium"))
"""Of who may think fewer tokens than that; whoever may think more makes a high effort."""

Heeds = Literal["all", "words", "nothing"]
"""What a server is told of how much is to be thought: a number of tokens, too, as the word that comes nearest; or nothing."""

TRUE = msgspec.Raw(b"true")


class Habits(msgspec.Struct, frozen=True, kw_only=True):
    """What one upstream wants otherwise than the client said it. `limit_field` "" leaves the client's own name."""

    limit_field: Literal["", "max_tokens", "max_completion_tokens"] = ""
    knows_developer: bool = True
    thinks: Heeds = "words"


def upstream_body(request: ChatRequest, serves: str, habits: Habits) -> bytes:
    """`serves` is the upstream's name for the model. Usage is always asked of a stream: the books need it."""
    fields = _FIELDS.decode(request.raw)
    fields.pop(SALT, None)
    if request.model != serves:
        fields["model"] = as_json(serves)
    if request.stream and not request.include_usage:
        fields["stream_options"] = asking_usage(fields.get("stream_options"))
    if request.max_tokens is not None and (habits.limit_field or (NEWER in fields and OLDER in fields)):
        _one_limit(fields, request.max_tokens, habits)
    if request.thinking is not None:
        _tell_thinking(fields, request.thinking, habits.thinks)
    if not habits.knows_developer and any(message.role == "developer" for message in request.messages):
        fields["messages"] = _without_developer(fields["messages"])
    return msgspec.json.encode(fields)


def may_name_salt(raw: bytes) -> bool:
    """Whether a body has to be taken apart to know: the name may be written in escapes."""
    return b"_salt" in raw or b"\\u" in raw


def forces_a_function(request: ChatRequest) -> bool:
    """The client named the function to be called; the finish reason of such an answer stays `stop`. Tools that are allowed are
    named as well, and none of them is forced."""
    if not request.tools or request.tool_choice != "function":
        return False
    choice = _FIELDS.decode(_FIELDS.decode(request.raw)["tool_choice"])
    return bytes(choice.get("type", b"")) != b'"allowed_tools"'


def asking_usage(options: msgspec.Raw | None) -> msgspec.Raw:
    known = {} if options is None or bytes(options) == b"null" else _FIELDS.decode(options)
    return msgspec.Raw(msgspec.json.encode({**known, "include_usage": TRUE}))


def _one_limit(fields: dict[str, msgspec.Raw], limit: int, habits: Habits) -> None:
    """Under the upstream's name; under the client's, the newer one of two, where the upstream takes any."""
    given = [name for name in (NEWER, OLDER) if name in fields and bytes(fields[name]) != b"null"]
    name = habits.limit_field or given[0]
    if given != [name]:
        fields.pop(NEWER, None)
        fields.pop(OLDER, None)
        fields[name] = msgspec.Raw(b"%d" % limit)


def _tell_thinking(fields: dict[str, msgspec.Raw], thinking: Thinking, heeds: Heeds) -> None:
    if heeds == "nothing":
        fields.pop(EFFORT, None)
        fields.pop("thinking", None)
    elif heeds == "all" and thinking.tokens and not thinking.effort and "thinking" not in fields:
        fields[EFFORT] = as_json(effort_of(thinking.tokens))


def effort_of(tokens: int) -> str:
    """
    >>> effort_of(1_024), effort_of(10_000), effort_of(31_999)
    ('low', 'medium', 'high')
    """
    return next((word for below, word in EFFORTS if tokens < below), "high")


def _without_developer(messages: msgspec.Raw) -> msgspec.Raw:
    turns = _TURNS.decode(messages)
    for turn in turns:
        if msgspec.json.decode(turn["role"]) == "developer":
            turn["role"] = msgspec.Raw(b'"system"')
    return msgspec.Raw(msgspec.json.encode(turns))
