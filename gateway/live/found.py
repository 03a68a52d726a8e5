"""Replicas that are not listed but found: under a DNS name, or by having announced themselves. Looked for again and again."""

import asyncio
import logging
import re
import socket
from collections.abc import Awaitable, Callable, Iterable
from urllib.parse import urlsplit

from backends.remote.address import api_base
from gateway.addresses import bracketed
from gateway.live.in_force import Live
from gateway.live.replicas import Replica
from gateway.live.sharing import Announced
from policies.catalogue import Model

log = logging.getLogger("turnout.replicas")

LOOK_S = 1.0
"""Between two looks. A name server's own time to live is not known to a resolver's callers."""

PATIENCE_S = 5.0

MISSES_TO_EMPTY = 3
"""So many times on end nothing at all has to be found before the last replicas are given up: a name server that was just
restarted says so too."""

MOST_REPLICAS = 1_024

ADDRESS = re.compile(r"https?://[^\s/?#@]+[^\s?#@]*")
LONGEST_ADDRESS = 300

Resolve = Callable[[str, int], Awaitable[Iterable[str]]]
"""Host and port -> IP addresses; none when the name does not exist. Raises OSError when that cannot be told."""

Seek = Callable[[Model], Awaitable[frozenset[str] | None]]
"""Addresses of the replicas of a model; None when that cannot be told now."""


class Seekers:
    """`registry` is where replicas announce themselves, None where this process shares nothing."""

    def __init__(self, registry: Announced | None, resolve: Resolve | None = None) -> None:
        self._registry = registry
        self._resolve = resolve or resolved

    async def seek(self, model: Model) -> frozenset[str] | None:
        if model.found_by == "announced":
            return None if self._registry is None else await self._registry.find(model.serves or model.name)
        try:
            async with asyncio.timeout(PATIENCE_S):
                found = [await self._at(address) for address in model.at]
        except OSError as error:  # TimeoutError is one
            log.warning("the names of model %s cannot be resolved now: %s", model.name, error)
            return None
        return frozenset().union(*found)

    async def _at(self, address: str) -> frozenset[str]:
        parts = urlsplit(address)
        port = parts.port or 80
        hosts = await self._resolve(parts.hostname or "", port)
        return frozenset(f"{parts.scheme}://{bracketed(host)}:{port}{parts.path}" for host in hosts)


async def resolved(host: str, port: int) -> Iterable[str]:
    """By the resolver of this machine: of a headless service of Kubernetes, every pod that is ready."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except socket.gaierror as error:
        if error.errno in (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME)):
            return ()
        raise
    return [str(place[0]) for *_, place in found]


class Finding:
    """The replicas of every model whose replicas are found are those that are there. `build` makes one of an address."""

    def __init__(self, live: Callable[[], Live], seek: Seek, build: Callable[[Model, str], Replica]) -> None:
        self._live = live
        self._seek = seek
        self._build = build
        self._empty: dict[str, int] = {}

    async def follow(self) -> None:
        """Until cancelled."""
        while True:
            try:
                await self.look()
            except Exception:
                log.exception("replicas cannot be looked for; those that are known stay")
            await asyncio.sleep(LOOK_S)

    async def look(self) -> None:
        for name, live in list(self._live().named()):
            for model in [model for model in live.policy.models.values() if model.found_by]:
                await self._look_for(model, f"{name}/{model.name}", live)
            await live.let_departed_go()

    async def _look_for(self, model: Model, known_as: str, live: Live) -> None:
        found = await self._seek(model)
        self._empty[known_as] = self._empty.get(known_as, 0) + 1 if found is not None and not found else 0
        if found or self._empty[known_as] >= MISSES_TO_EMPTY:
            place(live, model, sorted(filter(is_address, found or ()))[:MOST_REPLICAS], self._one_of)

    def _one_of(self, model: Model, address: str) -> Replica:
        """The same one for every arm in which the model is the same."""
        for _, live in self._live().named():
            if live.policy.models.get(model.name) == model:
                there = [replica for replica in live.replicas[model.name] if replica.name == address]
                if there:
                    return there[0]
        return self._build(model, address)


def is_address(found: str) -> bool:
    """Whoever may write to the store announces what he likes; what is no address is passed over.

    >>> [is_address(found) for found in ("http://10.0.0.1:8000/v1", "http://u:p@h/v1", "file:///etc", "http://h:x/v1")]
    [True, False, False, False]
    """
    if len(found) > LONGEST_ADDRESS or not ADDRESS.fullmatch(found):
        return False
    try:
        api_base(found)
    except ValueError:
        return False
    return True


def place(live: Live, model: Model, found: list[str], build: Callable[[Model, str], Replica]) -> None:
    """Who stays keeps what is known of it, and so does who is back soon; who is new begins; who left gets no more work, and
    ends what it has."""
    if live.policy.models.get(model.name) != model:
        return
    known = {replica.name: replica for replica in live.replicas[model.name]}
    if known.keys() == set(found):
        return
    log.info("model %s has %d replicas: %s", model.name, len(found), ", ".join(found) or "none")
    live.place(model.name, tuple(known.get(at) or live.departed(model.name, at) or build(model, at) for at in found))
