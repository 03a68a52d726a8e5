"""What maps to what between the dialects, as Markdown, from the tables that do it.

python -m backends.dialects.mapping > backends/dialects/MAPPING.md
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, get_args

from backends.dialects.anthropic_messages import body as messages
from backends.dialects.anthropic_messages.chat import FIELDS as FROM_MESSAGES
from backends.dialects.anthropic_messages.listening import STOP_REASONS
from backends.dialects.anthropic_messages.response import TYPE_OF_STATUS
from backends.dialects.anthropic_messages.server.events import FINISHES
from backends.dialects.anthropic_messages.server.fields import FIELDS as TO_MESSAGES
from backends.dialects.anthropic_messages.server.parts import File, Picture, Refusal, Words
from backends.dialects.anthropic_messages.server.turns import Spoken
from backends.dialects.openai_chat.reported import STATUS_BY_WORD
from backends.dialects.openai_responses import items as responses
from backends.dialects.openai_responses.chat import FIELDS as FROM_RESPONSES
from backends.dialects.openai_responses.listening import INCOMPLETE
from backends.dialects.table import Field

Row = tuple[str, ...]

HEAD = """# What maps to what

Written by `python -m backends.dialects.mapping`, from the tables that do it; do not edit.

Between a client and a server of the same dialect nothing is mapped: the body goes as it came but for `model`, with the
headers that belong to it (`anthropic-version`, `anthropic-beta`), and so does the answer. Servers of Messages refuse thinking
that none of them signed: what a model of another dialect thought stays behind. Between dialects a field is mapped
exactly, or a 400 names it; a route with another model that has words for it asks that one. What only saves tokens is left
out, and so is how much is to be thought where the model cannot heed it (`thinking` of the policy), which the answer says.
What is not in these tables is refused. Everything passes through Chat Completions: a client of any dialect in front of a
server of any dialect is two of these tables, one after the other."""


def mapping() -> str:
    return "\n".join([HEAD, *_parts()]) + "\n"


def _parts() -> Iterator[str]:
    yield from _section("Messages in front of Chat Completions")
    yield from _fields("Messages", "Chat Completions", FROM_MESSAGES)
    yield from _table(("block", "in Chat Completions"), _kinds(get_args(messages.Block)))
    yield from _table(
        ("`finish_reason`", "`stop_reason`"),
        _words(STOP_REASONS, OWN_END),
    )
    yield (
        "`usage`: `input_tokens` is `prompt_tokens` without the cached ones, which are `cache_read_input_tokens`, and those\n"
        "written to a cache, `cache_creation_input_tokens`."
    )
    yield from _section("Chat Completions in front of Messages")
    yield from _fields("Chat Completions", "Messages", TO_MESSAGES)
    yield from _table(("role", "in Messages"), _kinds(get_args(Spoken)))
    yield from _table(("part", "in Messages"), _kinds((Words, Refusal, Picture, File)))
    yield from _table(("`stop_reason`", "`finish_reason`"), _words(FINISHES, "`stop`"))
    yield "`stop_sequence` is `stop_reason` beside it, as vLLM tells it.\n"
    yield from _table(("block of an answer", "in Chat Completions"), ANSWERED)
    yield (
        "`usage`: `prompt_tokens` is `input_tokens` with what was written to and read from a cache; `cached_tokens` is\n"
        "`cache_read_input_tokens`, `cache_write_tokens` is `cache_creation_input_tokens`,\n"
        "`reasoning_tokens` is `thinking_tokens`. A count in `message_delta` stands in for the\n"
        "same in `message_start`."
    )
    yield from _section("Responses in front of Chat Completions")
    yield from _fields("Responses", "Chat Completions", FROM_RESPONSES)
    yield from _table(("item", "in Chat Completions"), _kinds(get_args(responses.Item)))
    yield from _table(("part", "in Chat Completions"), _kinds(get_args(responses.Part)))
    yield from _table(("`finish_reason`", "`incomplete_details.reason`"), _words(INCOMPLETE, WHOLE))
    yield from _table(("in Chat Completions", "item of an answer"), RESPONDED)
    yield "`usage`: cached tokens of the prompt and thought ones of the answer are told as far as the server tells them.\n"
    yield from _section("Completions in front of Chat Completions")
    yield "Nothing: a bare text is no turn. Servers of OpenAI's dialects get the body as it came at their own `/completions`."
    yield from _section("Errors")
    yield from _table(
        ("status", "`type` for clients of Messages"), ((str(s), f"`{t}`") for s, t in TYPE_OF_STATUS.items())
    )
    yield "Other statuses below 500 are `invalid_request_error`, from there on `api_error`. 529 is 503 to all other clients.\n"
    yield from _table(
        ("`type` or `code` in a stream", "status"), ((f"`{w}`", str(s)) for w, s in STATUS_BY_WORD.items())
    )


OWN_END = (
    "`tool_use` after a call; `stop_sequence` where the server tells which one (`stop_reason` of vLLM, `matched_stop` of "
    "SGLang); else `end_turn`"
)
ANSWERED: tuple[Row, ...] = (
    ("`text`", "`content`"),
    ("`thinking`", "`reasoning_content`, without its signature"),
    ("`tool_use`", "one of `tool_calls`, numbered among themselves; an empty input is `{}`"),
)


WHOLE = "none: `status` is `completed`"
RESPONDED: tuple[Row, ...] = (
    ("`reasoning_content`", "`reasoning`, its `content`"),
    ("`content`", "`message`, a part `output_text`"),
    ("`refusal`", "`message`, a part `refusal`"),
    ("one of `tool_calls`", "`function_call`"),
)


def _section(title: str) -> Iterator[str]:
    yield f"\n## {title}\n"


def _fields(here: str, there: str, fields: Iterable[Field[Any]]) -> Iterator[str]:
    rows = ((f"`{field.name}`", _spelled(field.to), field.told) for field in fields)
    yield from _table((f"field of {here}", f"of {there}", "how"), rows)


def _spelled(names: str) -> str:
    return ", ".join(f"`{name}`" for name in names.split(", ")) if names else ""


def _kinds(kinds: Iterable[type]) -> Iterator[Row]:
    return ((f"`{_tag(kind)}`", _told(kind)) for kind in kinds)


def _tag(kind: type) -> str:
    """Messages of Responses may leave theirs out."""
    return str(kind.__struct_config__.tag or "message")  # type: ignore[attr-defined]


def _words(words: Mapping[str, str], rest: str) -> Iterator[Row]:
    yield from ((f"`{word}`", f"`{other}`") for word, other in words.items())
    yield "any other", rest


def _told(kind: type) -> str:
    return (kind.__doc__ or "").strip()


def _table(head: Row, rows: Iterable[Row]) -> Iterator[str]:
    yield "| " + " | ".join(head) + " |"
    yield "| " + " | ".join("---" for _ in head) + " |"
    for row in rows:
        yield "| " + " | ".join(row) + " |"
    yield ""


if __name__ == "__main__":
    sys.stdout.write(mapping())
