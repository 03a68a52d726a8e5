"""The prompt as the models read it whose own count, or keys of its prefix, the decision reads."""

import asyncio
from collections.abc import Container, Hashable, Sequence

from backends.errors import UpstreamError
from backends.messages import ChatRequest
from backends.upstream import Prepared
from gateway.live.in_force import Live
from gateway.live.replicas import Replica

LONG_PROMPT_BYTES = 32_768
"""Prompts above this are tokenised off the event loop."""

LONG_DIGEST_BYTES = 131_072
"""Prompts above this are digested off the event loop, where that is all there is to do: half a millisecond for a model. What
goes to a thread and back costs 0.1 to 0.2 ms itself."""


async def prepare(live: Live, request: ChatRequest, salt: bytes, unable: Container[str] = ()) -> dict[str, Prepared]:
    """But for models that are `unable` to be asked. Embeddings have neither count nor prefix."""
    if request.asks == "embeddings":
        return {}
    readers, most = [], LONG_DIGEST_BYTES
    for model in live.asked(request.model):
        group = live.groups[model]
        if group.reads and model not in unable:
            readers.append(group.replicas[0])
            if group.tokenises:
                most = LONG_PROMPT_BYTES
    if readers and (len(request.raw) > most or (request.native is not None and len(request.native.body) > most)):
        return await asyncio.to_thread(_prepare, readers, request, salt)
    return _prepare(readers, request, salt)


def _prepare(readers: Sequence[Replica], request: ChatRequest, salt: bytes) -> dict[str, Prepared]:
    """A model that cannot read the conversation, or is not open yet, has no measure of it; asked by name, it says what it
    cannot read. Models that read alike share one."""
    prepared: dict[str, Prepared] = {}
    shared: dict[Hashable, Prepared] = {}
    for replica in readers:
        alike, upstream = replica.reads_as, replica.upstream
        measured = shared.get(alike)
        if measured is None:
            if upstream is None:
                continue
            try:
                measured = upstream.prepare(request, salt)
            except UpstreamError:
                continue
            if alike is not None:
                shared[alike] = measured
        prepared[replica.model] = measured
    return prepared
