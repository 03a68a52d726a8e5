"""From an address to a connection with the server that takes our writes. Raises what Redis raises."""

from typing import Any, Protocol

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.crc import key_slot
from redis.exceptions import ClusterDownError, RedisError

from gateway.state.address import StoreAddress, read_address

DEADLINE_S = 1.0
"""After which an exchange is given up and the connection closed. No request waits that long."""

SENTINEL_S = 0.25
"""A Sentinel that does not answer within this is passed over for the next one."""


class Link(Protocol):
    """One server at a time. After `drop` the next client is connected afresh, to whoever takes writes then."""

    async def client(self) -> Redis: ...

    async def drop(self) -> None: ...

    async def aclose(self) -> None: ...


def open_link(url: str, namespace: str) -> Link:
    """Connects when first used. All keys carry the hash tag `namespace`, so of a cluster one server is needed. Raises
    ValueError for what is no address."""
    address = read_address(url)
    if address.kind == "cluster":
        return ClusterLink(address, key_slot(namespace.encode()))
    if address.kind == "sentinel":
        return SentinelLink(address)
    return ServerLink(Redis.from_url(url, **_options(), **_patience()))


class ServerLink:
    """One server by its address."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    async def client(self) -> Redis:
        return self._client

    async def drop(self) -> None:
        await self._client.connection_pool.disconnect(inuse_connections=False)

    async def aclose(self) -> None:
        await self._client.aclose()


class SentinelLink(ServerLink):
    """The primary that the Sentinels name; they are asked for each fresh connection."""

    def __init__(self, address: StoreAddress) -> None:
        quick = {"socket_timeout": SENTINEL_S, "socket_connect_timeout": SENTINEL_S, "retry": Retry(NoBackoff(), 0)}
        self._sentinel = Sentinel(  # type: ignore[no-untyped-call]
            address.nodes,
            sentinel_kwargs={**quick, "password": address.sentinel_password, "ssl": address.tls, "protocol": 2},
            **_login(address),
            **_options(),
            **_patience(),
        )
        super().__init__(self._sentinel.master_for(address.service, db=address.db))

    async def aclose(self) -> None:
        await super().aclose()
        for client in self._sentinel.sentinels:
            await client.aclose()


class ClusterLink:
    """The node that holds one slot. Nodes known so far are asked where it lies, for each fresh connection."""

    def __init__(self, address: StoreAddress, slot: int) -> None:
        self._address = address
        self._slot = slot
        self._seeds = list(address.nodes)
        self._client: Redis | None = None

    async def client(self) -> Redis:
        if self._client is None:
            host, port = await self._owner()
            self._client = self._open(host, port)
        return self._client

    async def drop(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.aclose()

    async def aclose(self) -> None:
        await self.drop()

    async def _owner(self) -> tuple[str, int]:
        """Raises the last node's failure, or ClusterDownError when nobody holds the slot."""
        failure: Exception = ClusterDownError("no node of the cluster holds the slot")
        for host, port in tuple(self._seeds):
            try:
                return await self._ask(host, port)
            except (RedisError, OSError) as error:
                failure = error
        raise failure

    async def _ask(self, host: str, port: int) -> tuple[str, int]:
        client = self._open(host, port, timeout_s=SENTINEL_S)
        try:
            ranges: list[Any] = await client.execute_command("CLUSTER", "SLOTS")  # type: ignore[no-untyped-call]
        finally:
            await client.aclose()
        found: tuple[str, int] | None = None
        for first, last, *nodes in ranges:
            places = [(_text(node[0]) or host, int(node[1])) for node in nodes]
            self._seeds = list(dict.fromkeys([*self._address.nodes, *places, *self._seeds]))[:64]
            if first <= self._slot <= last:
                found = places[0]
        if found is None:
            raise ClusterDownError("no node of the cluster holds the slot")
        return found

    def _open(self, host: str, port: int, timeout_s: float = DEADLINE_S) -> Redis:
        options = {**_options(), **_patience(timeout_s), **_login(self._address)}
        return Redis(host=host, port=port, **options)


def _options() -> dict[str, Any]:
    """One try more covers a connection that the server closed while it lay idle."""
    return {"max_connections": 2, "retry": Retry(NoBackoff(), 1), "protocol": 2}


def _patience(timeout_s: float = DEADLINE_S) -> dict[str, Any]:
    return {"socket_timeout": timeout_s, "socket_connect_timeout": timeout_s}


def _login(address: StoreAddress) -> dict[str, Any]:
    return {"username": address.username, "password": address.password, "ssl": address.tls}


def _text(told: Any) -> str:
    return told.decode() if isinstance(told, bytes) else str(told or "")
