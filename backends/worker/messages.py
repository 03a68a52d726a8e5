"""The words between a worker and its gateways, version 1. The README shows them on the wire."""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from policies.affinity.blocks import DIGEST_BYTES

VERSION = 1

EVENTS_PATH = "/worker/events"
"""Below the version of the API: `/v1/worker/events`."""

EventName = Literal["worker", "blocks", "load"]

MAX_DIGESTS = 1024
"""In one `blocks` event, 28 kB."""

MAX_WORDS = 1024
"""Characters of a reason or a name."""

Digest = Annotated[bytes, Meta(min_length=DIGEST_BYTES, max_length=DIGEST_BYTES)]
Digests = Annotated[tuple[Digest, ...], Meta(max_length=MAX_DIGESTS)]
Words = Annotated[str, Meta(max_length=MAX_WORDS)]
Count = Annotated[int, Meta(ge=0, le=1 << 40)]
"""What is beyond these no worker says; a reader does not have to reckon with it."""

HEARTBEAT_S = 1.0
"""No longer is a worker silent."""


class WorkerIs(msgspec.Struct, frozen=True):
    """Who speaks. `generation` changes whenever the prefix cache was lost; first comes this, then all blocks.

    `revision` names weights, precision and chat template, and is what the digests are seeded with.
    """

    generation: Words
    revision: Words
    block_tokens: Count
    version: int = VERSION


class Blocks(msgspec.Struct, frozen=True, omit_defaults=True):
    """Digests that came and went, and how many changes that makes in this generation.

    `cleared`: forget what was told before. `more`: what belongs together goes on in the next event.
    """

    sequence: Count
    stored: Digests = ()
    removed: Digests = ()
    cleared: bool = False
    more: bool = False


class WorkerLoad(msgspec.Struct, frozen=True):
    """Counts at this moment. `why_not` says why no work is taken; empty when it is.

    `queued_tokens`: prompt tokens to be computed. `active_tokens`: tokens whose keys and values a decode step reads.
    """

    generation: Words
    ready: bool
    why_not: Words
    waiting: Count
    running: Count
    queued_tokens: Count
    active_tokens: Count
    free_blocks: Count
    total_blocks: Count
