"""Models as OpenAI's API lists them."""

import msgspec


class ModelCard(msgspec.Struct, frozen=True):
    """`created` in seconds of the epoch."""

    id: str
    created: int
    object: str = "model"
    owned_by: str = "turnout"


class ModelList(msgspec.Struct, frozen=True):
    data: list[ModelCard]
    object: str = "list"
