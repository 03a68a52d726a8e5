"""Documents are apart from what is asked, in every dialect: they make the prompt longer, and nothing else."""

import json
from base64 import b64encode
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from backends.dialects.anthropic_messages.request import read_messages
from backends.dialects.openai_chat.request import read_chat
from backends.dialects.openai_responses.request import read_responses
from backends.messages import ChatRequest
from backends.remote.prefix import prefix_blocks
from gateway.decisions.asked import key_of
from gateway.request.facts import facts_of, question_of
from gateway.request.identity import Principal
from gateway.request.reading.conversation import history_keys
from gateway.request.reading.draw import draw_of
from gateway.request.reading.steps import steps_of
from gateway.request.reading.units import opening_of
from policies.facts import Facts

SOMEBODY = Principal(salt=b"salt")
QUESTION = "What does it say of the harvest?"
Json = Mapping[str, Any]
Blocks = Callable[[str], Json]


def of_chat(*parts: Json) -> ChatRequest:
    content = [*parts, {"type": "text", "text": QUESTION}]
    return read_chat(json.dumps({"model": "auto", "messages": [{"role": "user", "content": content}]}).encode())


def of_responses(*parts: Json) -> ChatRequest:
    content = [*parts, {"type": "input_text", "text": QUESTION}]
    return read_responses(json.dumps({"model": "auto", "input": [{"role": "user", "content": content}]}).encode())


def of_messages(*blocks: Json, role: str = "user") -> ChatRequest:
    asked = {"role": "user", "content": QUESTION}
    turns: list[Json] = [{"role": "user", "content": [*blocks, {"type": "text", "text": QUESTION}]}]
    if role == "assistant":
        turns = [asked, {"role": role, "content": [*blocks, {"type": "text", "text": "So."}]}, asked]
    return read_messages(json.dumps({"model": "auto", "max_tokens": 9, "messages": turns}).encode())


def of_assistant(*blocks: Json) -> ChatRequest:
    return of_messages(*blocks, role="assistant")


def data_url(text: str, kind: str = "text/plain") -> str:
    return f"data:{kind};base64,{b64encode(text.encode()).decode()}"


def document(source: Json) -> Json:
    return {"type": "document", "source": source, "title": "Almanac", "citations": {"enabled": True}}


def result(kind: str, content: object) -> Json:
    return {"type": f"{kind}_tool_result", "tool_use_id": "s", "content": content}


def words(text: str) -> list[Json]:
    return [{"type": "text", "text": text}]


FOUND: Mapping[str, tuple[Callable[..., ChatRequest], Blocks]] = {
    "a file of text": (of_chat, lambda text: {"type": "file", "file": {"file_data": data_url(text), "filename": "a"}}),
    "a table": (of_chat, lambda text: {"type": "file", "file": {"file_data": data_url(text, "text/csv")}}),
    "an input_file": (of_responses, lambda text: {"type": "input_file", "file_data": data_url(text), "filename": "a"}),
    "a document of text": (
        of_messages, lambda text: document({"type": "text", "media_type": "text/plain", "data": text}),
    ),
    "a document of blocks": (of_messages, lambda text: document({"type": "content", "content": words(text)})),
    "a document that is one content": (of_messages, lambda text: document({"type": "content", "content": text})),
    "a search result": (
        of_messages, lambda text: {"type": "search_result", "source": "s", "title": "t", "content": words(text)},
    ),
    "what MCP found": (of_assistant, lambda text: result("mcp", words(text))),
    "what MCP says": (of_assistant, lambda text: result("mcp", text)),
    "a page": (of_assistant, lambda text: result("web_fetch", {"type": "web_fetch_result", "url": "u", "content":
        document({"type": "text", "media_type": "text/plain", "data": text})})),
    "a search of the web": (of_assistant, lambda text: result("web_search", [
        {"type": "web_search_result", "title": "t", "url": "u", "encrypted_content": b64encode(text.encode()).decode()}])),
    "what code printed": (of_assistant, lambda text: result("code_execution", {
        "type": "code_execution_result", "stdout": text, "stderr": "", "return_code": 0, "content": []})),
    "a call of a server's tool": (of_assistant, lambda text: {
        "type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": text}}),
    "a block of a year to come": (of_messages, lambda text: {"type": "note_2031", "of": {"all": [text]}}),
}  # fmt: skip
SHORT, LONG = "It rained all of May. " * 20, "It rained all of May. " * 600
WITH_VISION = ("a file of text", "a table", "an input_file")
"""Servers of OpenAI's dialects that read files are those that read pictures."""

SEALED = ("a search of the web",)
"""Counted, and not told apart."""


def facts(request: ChatRequest) -> Facts:
    return facts_of(request, SOMEBODY, {}, frozenset(), {})


@pytest.mark.parametrize("kind", FOUND)
def test_a_document_makes_the_prompt_longer_and_asks_nothing(kind: str) -> None:
    asking, made = FOUND[kind]
    bare, short, long = asking(), asking(made(SHORT)), asking(made(LONG))

    assert question_of(short) == question_of(long) == question_of(bare)
    assert facts(short).prompt_tokens > facts(bare).prompt_tokens + len(SHORT) // 5
    assert facts(long).prompt_tokens > facts(short).prompt_tokens + (len(LONG) - len(SHORT)) // 5
    assert facts(long).prompt_tokens < len(LONG)
    assert facts(short).prompt_tokens < facts(bare).prompt_tokens + len(SHORT) + 100, "a text is no page that is shown"
    assert facts(short).needs == ({"vision"} if kind in WITH_VISION else set())
    assert facts(short).user_turns == facts(bare).user_turns


@pytest.mark.parametrize("kind", [kind for kind in FOUND if kind not in SEALED])
def test_who_asks_the_same_of_another_document_asks_something_else(kind: str) -> None:
    asking, made = FOUND[kind]
    one, same, other = (asking(made(text)) for text in (SHORT, SHORT, SHORT.replace("May", "June")))

    keys: list[Callable[[ChatRequest], object]] = [
        lambda request: history_keys(request, b"salt")[1],
        lambda request: key_of(request, SOMEBODY, b"secret"),
        lambda request: prefix_blocks(request, "m", b"salt"),
    ]
    if asking is not of_assistant:  # else it is no part of how the conversation opens
        keys += [lambda request: draw_of(request, b"salt"), opening_of]
    for key in keys:
        assert key(one) == key(same)
        assert key(one) != key(other)


PDF = {"type": "base64", "media_type": "application/pdf", "data": "JVBERi0x" * 3_000}


@pytest.mark.parametrize(
    "source", [PDF, {"type": "url", "url": "https://x/a.pdf"}, {"type": "file", "file_id": "f"}], ids=lambda one: one["type"]
)  # fmt: skip
def test_a_document_without_text_needs_vision_and_counts_a_page(source: Json) -> None:
    bare, request = of_messages(), of_messages(document(source))

    assert facts(request).needs == {"vision"}
    assert 1_600 < facts(request).prompt_tokens - facts(bare).prompt_tokens < 2_000
    assert question_of(request) == question_of(bare)


def test_a_picture_in_a_document_is_a_picture() -> None:
    shown = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBO" * 1_000}}
    request = of_messages(document({"type": "content", "content": [*words(SHORT), shown]}))

    assert facts(request).images == 1
    assert facts(request).needs == {"vision"}


def test_a_file_for_a_container_is_not_read() -> None:
    assert facts(of_messages({"type": "container_upload", "file_id": "f"})) == facts(of_messages())


@pytest.mark.parametrize("kind", ["a document of text", "a search result"])
def test_what_a_tool_found_is_its_result_with_all_it_holds(kind: str) -> None:
    def step(text: str) -> ChatRequest:
        used = {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "f", "input": {}}]}
        found = {"type": "tool_result", "tool_use_id": "a", "content": [FOUND[kind][1](text)]}
        turns = [{"role": "user", "content": QUESTION}, used, {"role": "user", "content": [found]}]
        return read_messages(json.dumps({"model": "auto", "max_tokens": 9, "messages": turns}).encode())

    short, other, long = step(SHORT), step("It snowed. " * 40), step(LONG)

    assert question_of(short).turns == question_of(long).turns == (QUESTION,)
    assert facts(long).prompt_tokens > facts(short).prompt_tokens + (len(LONG) - len(SHORT)) // 5
    assert "vision" not in facts(short).needs
    assert [*steps_of(short.messages)] == [*steps_of(step(SHORT).messages)] != [*steps_of(other.messages)]


def test_thoughts_that_are_sealed_count_nothing() -> None:
    thought: list[Json] = [
        {"type": "redacted_thinking", "data": "EmwK" * 900},
        {"type": "thinking", "thinking": "x " * 900, "signature": "s"},
    ]
    call = {"type": "server_tool_use", "id": "s", "name": "f", "input": {}}

    assert facts(of_assistant(*thought, call)) == facts(of_assistant(call))


@pytest.mark.parametrize(
    "file",
    [{}, {"file_id": "f"}, {"file_data": "no URL"}, {"file_data": "data:text/plain;base64,a"},
     {"file_data": "data:text/plain;base64,é"}, {"file_data": 1}, "f", None,
     {"file_data": data_url("%PDF-1.4", "application/pdf")}],
)  # fmt: skip
def test_a_file_that_is_no_text_is_its_servers_to_judge(file: object) -> None:
    request = of_chat({"type": "file", "file": file})

    assert (request.messages[0].documents, request.messages[0].files) == ("", 1)
    assert question_of(request) == question_of(of_chat())
