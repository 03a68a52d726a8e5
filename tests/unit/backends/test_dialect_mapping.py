"""MAPPING.md is what the tables say, and the tables say something of every field that is read."""

from pathlib import Path

import msgspec

from backends.dialects import mapping
from backends.dialects.anthropic_messages.body import Body as MessagesBody
from backends.dialects.anthropic_messages.chat import FIELDS as FROM_MESSAGES
from backends.dialects.anthropic_messages.server.fields import FIELDS as TO_MESSAGES
from backends.dialects.openai_chat.body import Body as ChatBody
from backends.dialects.openai_responses.body import Body as ResponsesBody
from backends.dialects.openai_responses.chat import FIELDS as FROM_RESPONSES

OF_RESPONSES = (
    "message",
    "reasoning",
    "function_call",
    "function_call_output",
    "input_text",
    "output_text",
    "input_file",
)
PAGE = Path(mapping.__file__).parent / "MAPPING.md"


def test_the_page_is_what_the_tables_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == mapping.mapping(), "python -m backends.dialects.mapping writes it anew"


def test_no_field_that_is_read_is_without_a_row() -> None:
    for body, rows in ((MessagesBody, FROM_MESSAGES), (ChatBody, TO_MESSAGES), (ResponsesBody, FROM_RESPONSES)):
        told = [row.name for row in rows]

        assert {field.name for field in msgspec.structs.fields(body)} <= set(told)
        assert len(told) == len(set(told))


def test_every_kind_of_block_and_part_has_words() -> None:
    lines = PAGE.read_text(encoding="utf-8").splitlines()

    for tag in ("text", "image", "thinking", "tool_use", "tool_result", "image_url", "file", "refusal", *OF_RESPONSES):
        assert any(line.startswith(f"| `{tag}` | ") and len(line) > len(f"| `{tag}` | ") + 3 for line in lines), tag
