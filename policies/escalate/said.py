"""What an answer has said so far, and what was wanted of it. Text lives here for as long as it is judged, no longer."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

Ending = Literal["", "stop", "length", "tool_calls", "content_filter"]
"""How it ended; "" while it goes on."""

Schema = Mapping[str, Any]


class SaidCall(msgspec.Struct, frozen=True):
    """A tool call as far as it was said: `arguments` is JSON once the answer is whole."""

    name: str
    arguments: str


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """The beginning of an answer, or all of it when `ending` says so.

    `logprobs` are natural logarithms of the chosen tokens' probabilities, one a token, where they are known.
    `tokens` counts the pieces where they are not. `declined`: the dialect's own field for a refusal was used.
    """

    text: str = ""
    logprobs: tuple[float, ...] = ()
    tokens: int = 0
    calls: tuple[SaidCall, ...] = ()
    declined: bool = False
    ending: Ending = ""

    @property
    def whole(self) -> bool:
        return self.ending != ""


class Wanted(msgspec.Struct, frozen=True, kw_only=True):
    """What the request asks: the user's latest words, the form of the answer (JSON, perhaps of a schema), the tools that
    may be called."""

    question: str = ""
    json: bool = False
    schema: Schema | None = None
    tools: Mapping[str, Schema] = {}
