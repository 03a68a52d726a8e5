"""What every reader of tool calls does, and which one reads the words of which chat template. Knows no request and no token."""

from collections.abc import Callable, Mapping
from typing import Literal, Protocol, cast

import msgspec

CallFormat = Literal["hermes", "llama3", "mistral"]
"""How a model writes a call: Qwen, Hermes and their kin; Llama 3; Mistral's first tool tokenizers."""


class Call(msgspec.Struct, frozen=True):
    """A function to be called. `arguments` is the text of a JSON object."""

    name: str
    arguments: str


class CallReader(Protocol):
    """One answer, piece by piece. What turns out to be no call comes back as the text that it is."""

    def push(self, text: str) -> list[str | Call]:
        """What is certain by now, in order."""
        ...

    def finish(self) -> list[str | Call]:
        """The rest, at the end of the answer."""
        ...


def format_of(template: str) -> CallFormat | None:
    """How the model behind this chat template writes calls; None when the template takes no tools, or in a form unknown here.

    >>> format_of("{% if tools %}<tool_call>"), format_of("{{ messages }}<tool_call>"), format_of("{% if tools %}")
    ('hermes', None, None)
    """
    if "tools" not in template:
        return None
    if "<tool_call>" in template and "<function=" not in template:
        return "hermes"
    if "[TOOL_CALLS]" in template and "[ARGS]" not in template:
        return "mistral"
    return "llama3" if "<|start_header_id|>" in template and '"parameters"' in template else None


def json_of(text: str) -> object:
    """The JSON value that a text is to every client's parser: no NaN, no number beyond a double, no half of a surrogate
    pair. None for anything else.

    >>> json_of('{"x": 1}'), json_of('{"x": NaN}'), json_of("1e999")
    ({'x': 1}, None, None)
    """
    try:
        return cast(object, msgspec.json.decode(text))
    except (msgspec.DecodeError, ValueError, RecursionError):
        return None


def call_of(said: object, arguments_key: str, known: Callable[[str], bool]) -> Call | None:
    """The call that a JSON value means, if it means one of a function that is `known`."""
    if not isinstance(said, Mapping):
        return None
    name, arguments = said.get("name"), _object(said.get(arguments_key))
    return Call(name, arguments) if isinstance(name, str) and known(name) and arguments is not None else None


def _object(arguments: object) -> str | None:
    """The text of a JSON object. One that was written inside a string is kept letter by letter."""
    if isinstance(arguments, str):
        return arguments if isinstance(json_of(arguments), Mapping) else None
    return msgspec.json.encode(arguments).decode() if isinstance(arguments, Mapping) else None
