"""Output items of one answer in the making: one after another, whatever order its pieces come in."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from backends.dialects.openai_chat.pieces import Pieces

Kind = Literal["reasoning", "text", "refusal", "call"]
Logprob = dict[str, object]
"""Of one token, in the shape that this dialect shares with Chat Completions."""


@dataclass(slots=True)
class Item:
    """The item at `place` of the output. `call_id` and `name` are of a call. `shown` pieces, and as many log-probabilities as
    `shown_logprobs`, have left."""

    kind: Kind
    place: int
    call_id: str = ""
    name: str = ""
    pieces: Pieces = field(default_factory=Pieces)
    logprobs: list[Logprob] = field(default_factory=list)
    shown: int = 0
    shown_logprobs: int = 0

    @property
    def content(self) -> str:
        return self.pieces.text

    @property
    def may_close(self) -> bool:
        """Nothing more can come: words end where another item begins, a call with its object of arguments."""
        return self.kind != "call" or self.pieces.is_object

    @property
    def may_open(self) -> bool:
        return self.kind != "call" or bool(self.name)


class Output:
    """The items of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self.items: list[Item] = []
        self._calls: dict[int, Item] = {}

    def say(self, kind: Literal["reasoning", "text", "refusal"], piece: str, logprobs: Sequence[Logprob] = ()) -> None:
        if not piece and not logprobs:
            return
        if not self.items or self.items[-1].kind != kind:
            self.items.append(Item(kind, len(self.items)))
        self.items[-1].pieces.all.append(piece)
        self.items[-1].logprobs += logprobs

    def call(self, number: int, call_id: str, name: str, arguments: str) -> None:
        """More of the tool call number `number` among the calls of the answer."""
        item = self._calls.get(number)
        if item is None:
            item = self._calls[number] = Item("call", len(self.items))
            self.items.append(item)
        item.call_id = item.call_id or call_id
        item.name = item.name or name
        if arguments:
            item.pieces.all.append(arguments)
