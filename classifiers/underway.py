"""An estimate that has begun: what is known of its turns by now, what is waited for, and how that ends."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future
from typing import NamedTuple

import msgspec

from classifiers.glance import Glance
from classifiers.turns import Chances


class Scored(NamedTuple):
    """What the encoder's vector of one turn came to: chances by head, and why they aren't to be trusted, or ""."""

    chances: Chances
    doubt: str = ""


Places = tuple[int, ...]


class Underway(msgspec.Struct):
    """`keys` are the digests of the turns, `unclear` the prefixes, by place, that the encoder has to speak of: it `read`s the
    turns up to the last of those. `waiting` is what it is about to say. The `language` is known before."""

    started: float
    keys: Sequence[bytes]
    unclear: Places
    glance: Glance | None
    read: Sequence[bytes]
    language: str
    waiting: "Sequence[Future[Scored]]" = ()


async def settled(waiting: "Sequence[Future[Scored]]", within_s: float) -> None:
    """Waits for all of them, or for `within_s`."""
    here = [asyncio.wrap_future(future) for future in waiting]
    try:
        await asyncio.wait(here, timeout=within_s)
    finally:
        for future in here:
            if not future.cancel() and not future.cancelled():
                future.exception()  # read here, or asyncio reports it as never retrieved


def unready(waiting: "Sequence[Future[Scored]]", within_s: float) -> str:
    """Why what was waited for is not to be had, or ""."""
    late = sum(not future.done() for future in waiting)
    if late:
        return f"{late} of {len(waiting)} embeddings not ready within {within_s * 1000:.0f} ms"
    failed = next((error for future in waiting if (error := future.exception())), None)
    return f"{type(failed).__name__}: {failed}" if failed else ""
