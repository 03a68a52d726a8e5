"""What one more piece of a call takes does not grow with the pieces before it, counted in the memory that it asks for."""

import json
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from backends.dialects.anthropic_messages.dialect import AnthropicMessages
from backends.dialects.dialect import Dialect
from backends.dialects.openai_chat.calls import CallFragments
from backends.dialects.openai_responses.dialect import OpenAIResponses
from backends.messages import Wire

PIECES = 2_000
PIECE = "x" * 50


def repeated() -> Callable[[str], object]:
    """A server that says everything again with every piece."""
    fragments = CallFragments()

    def push(text: str) -> object:
        return fragments.push({"index": 0, "id": "call_a", "function": {"name": "f", "arguments": text}})

    def unnamed(text: str) -> object:
        return fragments.push({"index": 0, "function": {"name": "f", "arguments": text}})

    push('{"a": "')
    return unnamed


def two_calls(dialect: Dialect, raw: dict[str, Any]) -> Callable[[str], object]:
    """Of which the first waits for its end while the second is told."""
    body = json.dumps({"model": "m", "stream": True, **raw}).encode()
    renderer = dialect.stream(dialect.read(body), "m", "a1", 0)

    def render(place: int, function: dict[str, str]) -> object:
        calls = [{"index": place, "id": f"call_{place}", "function": function}]
        chunk = {"choices": [{"index": 0, "delta": {"tool_calls": calls}, "finish_reason": None}]}
        return renderer.render(Wire(json.dumps(chunk).encode(), speaks=True))

    for place in range(2):
        render(place, {"name": "f", "arguments": '{"a": "'})
    return lambda text: [render(place, {"arguments": text}) for place in range(2)]


MESSAGES = {"max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}
WAYS: dict[str, Callable[[], Callable[[str], object]]] = {
    "said again": repeated,
    "two at once in Messages": lambda: two_calls(AnthropicMessages(), MESSAGES),
    "two at once in Responses": lambda: two_calls(OpenAIResponses(), {"input": "hi"}),
}


@pytest.fixture(autouse=True)
def counted_memory() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.parametrize("way", WAYS)
def test_a_piece_takes_as_much_as_the_one_before_it(way: str) -> None:
    push = WAYS[way]()

    takes = [taken(push) for _ in range(PIECES)]

    first, second = sum(takes[: PIECES // 2]), sum(takes[PIECES // 2 :])
    assert second < 1.5 * first


def taken(push: Callable[[str], object]) -> int:
    """Bytes that were asked for at once while one more piece was pushed."""
    tracemalloc.reset_peak()
    before, _ = tracemalloc.get_traced_memory()
    push(PIECE)
    return tracemalloc.get_traced_memory()[1] - before
