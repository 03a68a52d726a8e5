"""Turns of Chat Completions as turns of content blocks."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from backends.dialects.anthropic_messages.server.parts import (
    EMPTY,
    Block,
    File,
    Picture,
    Refusal,
    Words,
    text_of,
    user_block,
)
from backends.dialects.faults import RequestFault, decode_past_nulls

_NOTHING = msgspec.Raw()
Turn = dict[str, Any]


class Told(msgspec.Struct, tag_field="role", tag="system", forbid_unknown_fields=True):
    """`system` before the first turn, later a turn of role `system`"""

    content: msgspec.Raw


class Developed(Told, tag="developer"):
    """as that of the system"""


class Asked(msgspec.Struct, tag_field="role", tag="user", forbid_unknown_fields=True):
    """a turn of role `user`; what follows results of tools is part of their turn"""

    content: msgspec.Raw


class _Function(msgspec.Struct, forbid_unknown_fields=True):
    """`parsed_arguments` is the same once more: OpenAI's own library keeps it there."""

    name: str
    arguments: str
    parsed_arguments: Any = None


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    """`extra_content` is what Gemini keeps there for itself."""

    id: str
    function: _Function
    type: str = "function"
    index: int = 0
    extra_content: Any = None


class Answered(msgspec.Struct, tag_field="role", tag="assistant", forbid_unknown_fields=True):
    """a turn of role `assistant`, not the last; `tool_calls` are blocks `tool_use`; reasoning is left out"""

    content: msgspec.Raw = _NOTHING
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_details: Any = None
    annotations: Annotated[list[Any], Meta(max_length=0)] | None = None
    audio: None = None
    function_call: None = None
    name: None = None
    parsed: Any = None
    """`content` once more, as OpenAI's own library keeps it."""


class Result(msgspec.Struct, tag_field="role", tag="tool", forbid_unknown_fields=True):
    """a block `tool_result`; those that follow each other are one turn of role `user`; `name` is that of the call"""

    tool_call_id: str
    content: msgspec.Raw
    name: str | None = None


Spoken = Told | Developed | Asked | Answered | Result
"""A turn of each role; the docstrings stand in `MAPPING.md`."""

_TURNS = msgspec.json.Decoder(list[Spoken])
_TURN = msgspec.json.Decoder(Spoken)
_RAW_TURNS = msgspec.json.Decoder(list[msgspec.Raw])
_WORDS = msgspec.json.Decoder(list[Words])
_SHOWN = msgspec.json.Decoder(list[Words | Picture | File])
_SPOKEN = msgspec.json.Decoder(list[Words | Refusal])
_ARGUMENTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Script:
    """The conversation in the making. Results of tools are kept until the turn that they begin is complete."""

    def __init__(self) -> None:
        self.system: list[msgspec.Raw | Block] = []
        self.turns: list[Turn] = []
        self._results: list[Block] = []

    def tell(self, turn: Told, at: str) -> None:
        """Before the first turn it is the system prompt, later a turn of its own. Without words it is nothing."""
        content = _plain(turn.content, at)
        content = _saying(content) if isinstance(content, list) else content
        if not content if isinstance(content, list) else bytes(content) in EMPTY:
            return
        self.close()
        if self.turns:
            self.turns.append({"role": "system", "content": content})
        elif isinstance(content, list):
            self.system += content
        else:
            self.system.append(content)

    def answer(self, turn: Answered, at: str) -> None:
        self.close()
        self.turns.append({"role": "assistant", "content": _said(turn, at)})

    def result(self, result: Result, at: str) -> None:
        block = {"type": "tool_result", "tool_use_id": result.tool_call_id, "content": _plain(result.content, at)}
        self._results.append(block)

    def ask(self, turn: Asked, at: str) -> None:
        """The results of the calls before it begin the same turn."""
        if _is_text(turn.content) and not self._results:
            self.turns.append({"role": "user", "content": turn.content})
            return
        parts = (
            [Words(turn.content)]
            if _is_text(turn.content)
            else decode_past_nulls(_SHOWN, bytes(turn.content), f"{at}.content", depth=2)
        )
        blocks = [user_block(part, f"{at}.content[{index}]") for index, part in enumerate(parts)]
        self.turns.append({"role": "user", "content": [*self._results, *_saying(blocks)] or blocks})
        self._results = []

    def close(self) -> None:
        if self._results:
            self.turns.append({"role": "user", "content": self._results})
            self._results = []


def spoken(raw: msgspec.Raw) -> Mapping[str, Any]:
    """`messages` and `system` of a Messages body. Raises RequestFault."""
    script = _Script()
    for index, turn in enumerate(_read(raw)):
        _say(script, turn, f"messages[{index}]")
    script.close()
    if not script.turns or script.turns[-1]["role"] == "assistant":
        raise RequestFault(
            "The last turn must be one of the user or of a tool in the dialect of this model.", "messages"
        )
    return {**_system(script.system), "messages": script.turns}


def _read(raw: msgspec.Raw) -> list[Spoken]:
    """In one pass, and a second one to find the turn that has no words here."""
    try:
        return _TURNS.decode(raw)
    except msgspec.ValidationError:
        turns = enumerate(_RAW_TURNS.decode(raw))
        return [decode_past_nulls(_TURN, bytes(turn), f"messages[{at}]", depth=3) for at, turn in turns]


def _say(script: _Script, turn: Spoken, at: str) -> None:
    if isinstance(turn, Asked):
        script.ask(turn, at)
    elif isinstance(turn, Answered):
        script.answer(turn, at)
    elif isinstance(turn, Result):
        script.result(turn, at)
    else:
        script.tell(turn, at)


def _system(told: list[msgspec.Raw | Block]) -> Mapping[str, Any]:
    """One string stays a string."""
    if not told:
        return {}
    if len(told) == 1 and not isinstance(told[0], dict):
        return {"system": told[0]}
    return {"system": [part if isinstance(part, dict) else {"type": "text", "text": part} for part in told]}


def _is_text(raw: msgspec.Raw) -> bool:
    """A string stays one, as it was written."""
    return bytes(memoryview(raw)[:1]) == b'"'


def _plain(raw: msgspec.Raw, at: str) -> msgspec.Raw | list[Block]:
    return raw if _is_text(raw) else [text_of(words) for words in _words(raw, at)]


def _words(raw: msgspec.Raw, at: str) -> list[Words]:
    return decode_past_nulls(_WORDS, bytes(raw), f"{at}.content", depth=1)


def _said(turn: Answered, at: str) -> msgspec.Raw | list[Block]:
    """A string stays one where nothing stands beside it."""
    calls = turn.tool_calls or []
    if _is_text(turn.content) and not calls and not turn.refusal:
        return turn.content
    words = [text_of(part) for part in _parts_of(turn, at)]
    return [
        *_saying(words),
        *(_use(call, f"{at}.tool_calls[{n}]") for n, call in enumerate(calls)),
    ]


def _saying(blocks: list[Block]) -> list[Block]:
    """Servers refuse an empty text beside others, and it says nothing."""
    return [block for block in blocks if block["type"] != "text" or bytes(block["text"]) not in EMPTY]


def _parts_of(turn: Answered, at: str) -> Iterator[Words | Refusal]:
    if _is_text(turn.content):
        yield Words(turn.content)
    elif bytes(turn.content) not in EMPTY:
        yield from decode_past_nulls(_SPOKEN, bytes(turn.content), f"{at}.content", depth=1)
    if turn.refusal:
        yield Refusal(turn.refusal)


def _use(call: _Call, at: str) -> Block:
    """Arguments without a text are an empty object; their numbers stay as they were written."""
    text = call.function.arguments.strip() or "{}"
    try:
        _ARGUMENTS.decode(text)
    except (msgspec.DecodeError, RecursionError):
        where = f"{at}.function.arguments"
        raise RequestFault(f"{where} is no object of JSON, which the dialect of this model wants.", where) from None
    return {"type": "tool_use", "id": call.id, "name": call.function.name, "input": msgspec.Raw(text.encode())}
