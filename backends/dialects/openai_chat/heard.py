"""What an upstream's own bytes say: text, token probabilities, tool calls. For judging an answer that passes as it came."""

from collections.abc import Iterator
from typing import Any

import msgspec

from backends.messages import ChatRequest

_FIELDS = msgspec.json.Decoder(dict[str, msgspec.Raw])
_CHOICES = msgspec.json.Decoder(list[dict[str, msgspec.Raw]])
_NULL = msgspec.Raw(b"null")
_TRUE = msgspec.Raw(b"true")
_ZERO = msgspec.Raw(b"0")


class CallPiece(msgspec.Struct, frozen=True):
    """A piece of the tool call number `index`."""

    index: int
    name: str
    arguments: str


class Heard(msgspec.Struct, frozen=True):
    """What one event adds to an answer. `declined`: in the field that is for refusals."""

    text: str = ""
    logprobs: tuple[float, ...] = ()
    calls: tuple[CallPiece, ...] = ()
    declined: bool = False
    finish: str = ""


class _Function(msgspec.Struct):
    name: str | None = None
    arguments: str | None = None


class _Call(msgspec.Struct):
    index: int | None = None
    function: _Function | None = None


class _Words(msgspec.Struct):
    content: Any = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None


class _Token(msgspec.Struct):
    logprob: float | None = None


class _Logprobs(msgspec.Struct):
    content: list[_Token] | None = None
    token_logprobs: list[float | None] | None = None
    """Of the older Completions, which has no `content`."""


class _Choice(msgspec.Struct):
    delta: _Words | None = None
    message: _Words | None = None
    text: str | None = None
    """Of the older Completions, which has neither `delta` nor `message`."""
    logprobs: _Logprobs | None = None
    finish_reason: str | None = None


class _Answer(msgspec.Struct):
    choices: list[_Choice] | None = None


_ANSWER = msgspec.json.Decoder(_Answer)


def heard(data: bytes) -> Heard:
    """Of the first choice of a chunk, or of a whole answer. What cannot be read says nothing.

    >>> heard(b'{"choices":[{"delta":{"content":"Hi"},"logprobs":{"content":[{"logprob":-0.5}]}}]}')
    Heard(text='Hi', logprobs=(-0.5,), calls=(), declined=False, finish='')
    """
    try:
        choices = _ANSWER.decode(data).choices
    except (msgspec.DecodeError, RecursionError):
        return Heard()
    if not choices:
        return Heard()
    choice = choices[0]
    words = choice.message or choice.delta or _Words()
    return Heard(
        text=words.content if isinstance(words.content, str) else choice.text or "",
        logprobs=_logprobs(choice.logprobs),
        calls=tuple(_calls(words.tool_calls or [])),
        declined=bool(words.refusal),
        finish=choice.finish_reason or "",
    )


def _logprobs(told: _Logprobs | None) -> tuple[float, ...]:
    if told is None:
        return ()
    found = [token.logprob for token in told.content] if told.content else told.token_logprobs or ()
    return tuple([logprob for logprob in found if logprob is not None])


def _calls(calls: list[_Call]) -> Iterator[CallPiece]:
    for place, call in enumerate(calls):
        function = call.function or _Function()
        index = place if call.index is None else call.index
        yield CallPiece(index, function.name or "", function.arguments or "")


def without_logprobs(data: bytes) -> bytes:
    """A chunk, or a whole answer, as it would be had nobody asked for probabilities.

    >>> without_logprobs(b'{"id":"a","choices":[{"index":0,"logprobs":{"content":[]}}]}')
    b'{"id":"a","choices":[{"index":0,"logprobs":null}]}'
    """
    if b'"logprobs"' not in data:
        return data
    fields = _FIELDS.decode(data)
    choices = _CHOICES.decode(fields.get("choices", b"[]"))
    for choice in choices:
        if "logprobs" in choice:
            choice["logprobs"] = _NULL
    fields["choices"] = msgspec.Raw(msgspec.json.encode(choices))
    return msgspec.json.encode(fields)


def asking_logprobs(request: ChatRequest, at_most: int) -> ChatRequest:
    """The same request for token probabilities too; an engine of this process tells those of the first `at_most` tokens."""
    if request.sampling.logprobs:
        return request
    wanted = _ZERO if request.asks == "completions" else _TRUE
    fields: dict[str, Any] = {**_FIELDS.decode(request.raw), "logprobs": wanted} if request.raw else {}
    sampling = msgspec.structs.replace(request.sampling, logprobs=True, logprobs_at_most=at_most)
    return msgspec.structs.replace(request, raw=msgspec.json.encode(fields) if fields else b"", sampling=sampling)
