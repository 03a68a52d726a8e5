"""What a Chat Completions chunk, or a whole answer, says in the parts that another dialect is written from.

Reads what `relay` and `whole` have put right, and believes no type all the same.
"""

from collections.abc import Iterator
from typing import Any

import msgspec

from backends.dialects.openai_chat.calls import as_list


class CallPart(msgspec.Struct, frozen=True):
    """More of the tool call number `place`. `id` and `name` are "" where this part does not tell them."""

    place: int
    id: str
    name: str
    arguments: str


class Said(msgspec.Struct, frozen=True):
    """Of the first choice, in the order in which a model writes. `stop` is the stop sequence that ended it, if told."""

    reasoning: str = ""
    text: str = ""
    refusal: str = ""
    calls: tuple[CallPart, ...] = ()
    finish: str = ""
    stop: str = ""


class _Words(msgspec.Struct):
    content: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    refusal: Any = None
    tool_calls: Any = None


class _Choice(msgspec.Struct):
    delta: _Words | None = None
    message: _Words | None = None
    finish_reason: Any = None
    stop_reason: Any = None
    """vLLM's field for the stop string that was met; a number is a stop token's id."""
    matched_stop: Any = None
    """SGLang's."""


class _Answer(msgspec.Struct):
    choices: list[_Choice] | None = None


_ANSWER = msgspec.json.Decoder(_Answer)


def said(data: bytes) -> Said:
    """What cannot be read says nothing.

    >>> said(b'{"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}')
    Said(reasoning='', text='Hi', refusal='', calls=(), finish='stop', stop='')
    """
    try:
        choices = _ANSWER.decode(data).choices
    except (msgspec.DecodeError, RecursionError):
        return Said()
    if not choices:
        return Said()
    choice = choices[0]
    words = choice.message or choice.delta or _Words()
    return Said(
        reasoning=_text(words.reasoning_content) or _text(words.reasoning) or _thought(words.content),
        text=_joined(words.content),
        refusal=_text(words.refusal),
        calls=tuple(_calls(words.tool_calls)),
        finish=_text(choice.finish_reason),
        stop=_text(choice.stop_reason) or _text(choice.matched_stop),
    )


def _calls(calls: object) -> Iterator[CallPart]:
    for place, call in enumerate(as_list(calls)):
        function = call.get("function")
        function = function if isinstance(function, dict) else {}
        index = call.get("index")
        yield CallPart(
            place=index if isinstance(index, int) else place,
            id=_text(call.get("id")),
            name=_text(function.get("name")),
            arguments=_text(function.get("arguments")),
        )


def _joined(content: object) -> str:
    """Some servers answer in a list of parts."""
    if not isinstance(content, list):
        return _text(content)
    return "".join(_text(part.get("text")) for part in content if isinstance(part, dict))


def _thought(content: object) -> str:
    """Mistral's servers think in parts of their own, which hold parts."""
    if not isinstance(content, list):
        return ""
    return "".join(_joined(part.get("thinking")) for part in content if isinstance(part, dict))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
