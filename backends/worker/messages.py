"""The words between a worker and its gateways, version 1. The README shows them on the wire."""

from typing import Literal

import msgspec

VERSION = 1

EVENTS_PATH = "/worker/events"
LOAD_PATH = "/worker/load"
"""Below the version of the API: `/v1/worker/load`."""

EventName = Literal["worker", "blocks", "load"]

MAX_DIGESTS = 1024
"""In one `blocks` event, 28 kB."""

HEARTBEAT_S = 1.0
"""No longer is a worker silent."""


class WorkerIs(msgspec.Struct, frozen=True):
    """Who speaks. `generation` changes whenever the prefix cache was lost; first comes this, then all blocks.

    `revision` names weights, precision and chat template, and is what the digests are seeded with.
    """

    generation: str
    revision: str
    block_tokens: int
    version: int = VERSION


class Blocks(msgspec.Struct, frozen=True, omit_defaults=True):
    """Digests that came and went, and how many changes that makes in this generation.

    `cleared`: forget what was told before. `more`: what belongs together goes on in the next event.
    """

    sequence: int
    stored: tuple[bytes, ...] = ()
    removed: tuple[bytes, ...] = ()
    cleared: bool = False
    more: bool = False


class WorkerLoad(msgspec.Struct, frozen=True):
    """Counts at this moment. `why_not` says why no work is taken; empty when it is.

    `queued_tokens`: prompt tokens to be computed. `active_tokens`: tokens whose keys and values a decode step reads.
    """

    generation: str
    ready: bool
    why_not: str
    waiting: int
    running: int
    queued_tokens: int
    active_tokens: int
    free_blocks: int
    total_blocks: int
