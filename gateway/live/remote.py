"""Part of wiring: a replica elsewhere, as its model says that its servers are to be asked, heard and watched."""

from collections.abc import Callable
from functools import partial
from typing import NoReturn
from urllib.parse import urlsplit

from backends.probes.watch import ServerWatch
from backends.remote import Key, RemoteUpstream
from backends.transport import Transport
from backends.vllm.cache import Publisher, VllmCache
from backends.worker.upstream import WorkerUpstream
from gateway.addresses import bracketed
from gateway.extras import needs
from gateway.live.replicas import Forgot, Replica
from gateway.live.speech import dialect_of, made_of
from policies.catalogue import Model


def remote_replica(model: Model, at: str, key: Key | None, transport: Transport) -> Replica:
    """Nothing is connected until the first request. Raises BadSettings; and ValueError for an address that is none."""
    replica = Replica(model.name, at, built_from(model, at, key), is_found=bool(model.found_by))
    if model.worker:
        worker = WorkerUpstream(model=model.name, at=at, transport=transport, serves=model.serves, key=key)
        replica.upstream, replica.hear, replica.marker = worker, worker.hear, worker
        return replica
    opening = partial(
        RemoteUpstream,
        model=model.name,
        at=at,
        transport=transport,
        serves=model.serves,
        key=key,
        dialect=dialect_of(model),
        salt_field=model.speaks.salt,
    )
    if model.events is None:
        server = opening()
        replica.reads_as = model.serves or model.name
    else:
        cache = VllmCache(model.serves, publisher_of(model, at, model.events))
        server = opening(heeds=cache.heed, knows=cache.resident_tokens)
        replica.hear, replica.marker = partial(hear, cache, server), cache
    replica.upstream = server
    watch(replica, server, model)
    return replica


def built_from(model: Model, at: str, key: Key | None) -> object:
    """Equal for replicas that a reload may keep."""
    spoken = (model.serves, made_of(model), model.worker)
    return model.name, at, *spoken, model.key, key, model.watch, model.events, model.found_by


def watch(replica: Replica, server: RemoteUpstream, model: Model) -> None:
    """The server is asked how it is between requests."""
    if model.watch == "ready":
        replica.probe = server.probe
    elif model.watch != "off":
        found = ServerWatch(server, model.watch)
        replica.with_others, replica.probe = found.with_others, found.probe


async def hear(cache: VllmCache, server: RemoteUpstream, forgot: Forgot) -> NoReturn:
    await cache.hear(server, forgot)


def publisher_of(model: Model, at: str, port: int) -> Callable[[], Publisher]:
    """Opens the stream of events of the server at `at`. Raises BadSettings where the library is missing."""
    with needs("vllm-events", f"the model {model.name} hears its servers' KV events"):
        from backends.transport.subscription import Subscription
    host = urlsplit(at).hostname or ""
    return partial(Subscription, f"tcp://{bracketed(host)}:{port}")
