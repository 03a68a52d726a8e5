"""Content blocks of one answer in the making: one after another, whatever order its pieces come in."""

from dataclasses import dataclass, field
from typing import Literal

from backends.dialects.openai_chat.pieces import Pieces

Kind = Literal["thinking", "text", "tool_use"]


@dataclass(slots=True)
class Block:
    """`place` is the number of a tool call among the calls of the answer. `shown` pieces have left."""

    kind: Kind
    place: int = -1
    id: str = ""
    name: str = ""
    pieces: Pieces = field(default_factory=Pieces)
    shown: int = 0

    @property
    def content(self) -> str:
        return self.pieces.text

    @property
    def may_close(self) -> bool:
        """Nothing more can come: text ends where another block begins, a call with its object of arguments."""
        return self.kind != "tool_use" or self.pieces.is_object

    @property
    def may_open(self) -> bool:
        return self.kind != "tool_use" or bool(self.name)


class Blocks:
    """The blocks of one answer, in the order in which they began."""

    def __init__(self) -> None:
        self.all: list[Block] = []
        self._calls: dict[int, Block] = {}

    def say(self, kind: Literal["thinking", "text"], piece: str) -> None:
        if not piece:
            return
        if not self.all or self.all[-1].kind != kind:
            self.all.append(Block(kind))
        self.all[-1].pieces.all.append(piece)

    def call(self, place: int, id: str, name: str, arguments: str) -> None:
        block = self._calls.get(place)
        if block is None:
            block = self._calls[place] = Block("tool_use", place)
            self.all.append(block)
        block.id = block.id or id
        block.name = block.name or name
        if arguments:
            block.pieces.all.append(arguments)
