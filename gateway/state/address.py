"""Where the shared store is, from one URL: a server alone, a primary that Sentinels name, or a cluster."""

from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

Kind = Literal["alone", "sentinel", "cluster"]

KINDS: dict[str, tuple[Kind, bool]] = {
    "redis": ("alone", False),
    "rediss": ("alone", True),
    "unix": ("alone", False),
    "redis+sentinel": ("sentinel", False),
    "rediss+sentinel": ("sentinel", True),
    "redis+cluster": ("cluster", False),
    "rediss+cluster": ("cluster", True),
}
"""Scheme -> what is there, and whether the connection is encrypted."""

PORTS: dict[Kind, int] = {"alone": 6379, "sentinel": 26379, "cluster": 6379}

FORMS = "redis://HOST:PORT/DB, redis+sentinel://HOST:PORT,HOST:PORT/NAME/DB or redis+cluster://HOST:PORT,HOST:PORT"


class StoreAddress(msgspec.Struct, frozen=True, kw_only=True):
    """`nodes` are Sentinels or some nodes of the cluster; of a server alone the `url` says all. `service` is the primary's
    name among the Sentinels, which may have a password of their own."""

    kind: Kind
    url: str
    nodes: tuple[tuple[str, int], ...] = ()
    tls: bool = False
    username: str | None = None
    password: str | None = None
    sentinel_password: str | None = None
    service: str = ""
    db: int = 0


def read_address(url: str) -> StoreAddress:
    """Raises ValueError, without a word of the URL: it may hold a password.

    >>> found = read_address("redis+sentinel://:pw@a:1,b/main/2")
    >>> found.nodes, found.service, found.db, found.password
    ((('a', 1), ('b', 26379)), 'main', 2, 'pw')
    """
    parts = urlsplit(url)
    if parts.scheme not in KINDS:
        raise ValueError(f"is the address of a Redis server: {FORMS}")
    kind, tls = KINDS[parts.scheme]
    if kind == "alone":
        return StoreAddress(kind=kind, url=url, tls=tls)
    login, _, hosts = parts.netloc.rpartition("@")
    username, _, password = login.partition(":")
    service, _, db = parts.path.strip("/").partition("/")
    if kind == "sentinel" and not service:
        raise ValueError(f"names no primary that the Sentinels know: {FORMS}")
    if kind == "cluster" and service:
        raise ValueError("has a path, but a cluster has no databases")
    if db and not db.isdigit():
        raise ValueError("has a database that is no number")
    return StoreAddress(
        kind=kind,
        url=url,
        nodes=tuple(_node(host, PORTS[kind]) for host in hosts.split(",")),
        tls=tls,
        username=unquote(username) or None,
        password=unquote(password) or None,
        sentinel_password=parse_qs(parts.query).get("sentinel_password", [None])[0],
        service=service,
        db=int(db or 0),
    )


def _node(text: str, port: int) -> tuple[str, int]:
    parts = urlsplit(f"//{text}")
    try:
        host, found = parts.hostname, parts.port
    except ValueError:
        raise ValueError("has a port that is no number") from None
    if not host:
        raise ValueError(f"has an empty host: {FORMS}")
    return host, found or port
