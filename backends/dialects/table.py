"""One row of a mapping between dialects: what is done, and what people are told of it, in one place."""

from typing import Generic, TypeVar

import msgspec

Write = TypeVar("Write")


class Field(msgspec.Struct, Generic[Write], frozen=True):
    """`to` is where the field called `name` goes, "" where nothing is written. `write` does it; `told` is for `MAPPING.md`."""

    name: str
    to: str
    told: str
    write: Write
