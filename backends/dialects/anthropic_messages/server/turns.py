"""Turns of Chat Completions as turns of content blocks."""

from collections.abc import Mapping
from typing import Annotated, Any

import msgspec
from msgspec import Meta

from backends.dialects.anthropic_messages.server.parts import Block, File, Picture, Refusal, Words, text_of, user_block
from backends.dialects.faults import RequestFault, decode_body

_NOTHING = msgspec.Raw()
Strings = str | list[Words]
Turn = dict[str, Any]


class _Role(msgspec.Struct):
    role: str


class Told(msgspec.Struct, forbid_unknown_fields=True):
    """`system` before the first turn, later a turn of role `system`"""

    role: str
    content: Strings


class Asked(msgspec.Struct, forbid_unknown_fields=True):
    """a turn of role `user`; what follows results of tools is part of their turn"""

    role: str
    content: str | list[Words | Picture | File]


class _Function(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: str


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    id: str
    function: _Function
    type: str = "function"
    index: int = 0


class Answered(msgspec.Struct, forbid_unknown_fields=True):
    """a turn of role `assistant`, not the last; `tool_calls` are blocks `tool_use`; reasoning is left out"""

    role: str
    content: str | list[Words | Refusal] | None = None
    refusal: str | None = None
    tool_calls: list[_Call] | None = None
    reasoning_content: Any = None
    reasoning: Any = None
    annotations: Annotated[list[Any], Meta(max_length=0)] | None = None
    audio: None = None
    function_call: None = None
    name: None = None


class Result(msgspec.Struct, forbid_unknown_fields=True):
    """a block `tool_result`; those that follow each other are one turn of role `user`"""

    role: str
    tool_call_id: str
    content: Strings


ROLES: Mapping[str, type[Told | Asked | Answered | Result]] = {
    "system": Told,
    "developer": Told,
    "user": Asked,
    "assistant": Answered,
    "tool": Result,
}
"""A turn of each role; the docstrings stand in `MAPPING.md`."""

_TURNS = msgspec.json.Decoder(list[msgspec.Raw])
_ROLE = msgspec.json.Decoder(_Role)
_DECODERS = {role: msgspec.json.Decoder(kind) for role, kind in ROLES.items()}
_ARGUMENTS = msgspec.json.Decoder(dict[str, msgspec.Raw])


class _Script:
    """The conversation in the making. Results of tools are kept until the turn that they begin is complete."""

    def __init__(self) -> None:
        self.system: list[str | Block] = []
        self.turns: list[Turn] = []
        self._results: list[Block] = []

    def tell(self, content: Strings) -> None:
        """Before the first turn it is the system prompt, later a turn of its own."""
        self.close()
        if not self.turns:
            self.system += [content] if isinstance(content, str) else [text_of(words) for words in content]
        else:
            self.turns.append({"role": "system", "content": _plain(content)})

    def answer(self, turn: Answered, at: str) -> None:
        self.close()
        self.turns.append({"role": "assistant", "content": _said(turn, at)})

    def result(self, result: Result) -> None:
        block = {"type": "tool_result", "tool_use_id": result.tool_call_id, "content": _plain(result.content)}
        self._results.append(block)

    def ask(self, turn: Asked, at: str) -> None:
        """The results of the calls before it begin the same turn."""
        content = turn.content
        if isinstance(content, str) and not self._results:
            self.turns.append({"role": "user", "content": content})
            return
        parts = [Words(content)] if isinstance(content, str) else content
        blocks = [user_block(part, f"{at}.content[{index}]") for index, part in enumerate(parts)]
        self.turns.append({"role": "user", "content": [*self._results, *blocks]})
        self._results = []

    def close(self) -> None:
        if self._results:
            self.turns.append({"role": "user", "content": self._results})
            self._results = []


def spoken(raw: msgspec.Raw) -> Mapping[str, Any]:
    """`messages` and `system` of a Messages body. Raises RequestFault."""
    script = _Script()
    for index, turn in enumerate(_TURNS.decode(raw)):
        _say(script, bytes(turn), f"messages[{index}]")
    script.close()
    if not script.turns or script.turns[-1]["role"] == "assistant":
        raise RequestFault("The last turn must be the user's, or a tool's, in the dialect of this model.", "messages")
    return {**_system(script.system), "messages": script.turns}


def _say(script: _Script, raw: bytes, at: str) -> None:
    turn = decode_body(_DECODERS[_ROLE.decode(raw).role], raw, at)
    if isinstance(turn, Asked):
        script.ask(turn, at)
    elif isinstance(turn, Answered):
        script.answer(turn, at)
    elif isinstance(turn, Result):
        script.result(turn)
    else:
        script.tell(turn.content)


def _system(told: list[str | Block]) -> Mapping[str, Any]:
    """One string stays a string."""
    if not told:
        return {}
    if len(told) == 1:
        return {"system": told[0] if isinstance(told[0], str) else told}
    return {"system": [{"type": "text", "text": part} if isinstance(part, str) else part for part in told]}


def _plain(content: Strings) -> str | list[Block]:
    return content if isinstance(content, str) else [text_of(words) for words in content]


def _said(turn: Answered, at: str) -> str | list[Block]:
    """A string stays one where nothing stands beside it. The dialect knows no empty text."""
    calls = turn.tool_calls or []
    if isinstance(turn.content, str) and not calls and not turn.refusal:
        return turn.content
    parts: list[Words | Refusal] = [Words(turn.content)] if isinstance(turn.content, str) else list(turn.content or ())
    if turn.refusal:
        parts.append(Refusal(turn.refusal))
    words = [text_of(part) for part in parts]
    return [
        *(block for block in words if block["text"]),
        *(_use(call, f"{at}.tool_calls[{n}]") for n, call in enumerate(calls)),
    ]


def _use(call: _Call, at: str) -> Block:
    """Arguments without a text are an empty object; their numbers stay as they were written."""
    text = call.function.arguments.strip() or "{}"
    try:
        _ARGUMENTS.decode(text)
    except (msgspec.DecodeError, RecursionError):
        where = f"{at}.function.arguments"
        raise RequestFault(f"{where} is no object of JSON, which the dialect of this model wants.", where) from None
    return {"type": "tool_use", "id": call.id, "name": call.function.name, "input": msgspec.Raw(text.encode())}
