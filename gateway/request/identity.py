"""Step 2: from a key to a Principal. Knows digests of keys, never keys."""

import hashlib
import hmac
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

import msgspec
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from backends.worker.prefix import SALT_HEADER
from gateway.addresses import is_loopback
from gateway.errors import ForeignHost, Unauthorised
from gateway.request.head import Head
from gateway.request.reply import one_line
from gateway.settings import BadSettings, Settings

DIGEST_BYTES = 32
NOBODY = bytes(DIGEST_BYTES)

BEARER = "bearer "
"""Names of schemes know no case (RFC 9110 section 11.1)."""

LONGEST_HOST = 253
"""Characters of a host name, as DNS has it."""


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who is calling. `models` is None when every model may be used; `salt` keys the tenant's prefix digests.

    `is_gateway`: it speaks for tenants of its own, and may know what this process holds for them. `is_relayed`: it does so
    in this request, and `salt` keeps that tenant apart.
    """

    tenant: str = "default"
    plan: str = ""
    models: frozenset[str] | None = None
    salt: bytes = b""
    is_gateway: bool = False
    is_relayed: bool = False

    def may_use(self, model: str) -> bool:
        return self.models is None or model in self.models


class KeyEntry(BaseModel):
    """One line of the keys file: SHA-256 of the key in hex, and what the key stands for.

    Keys with the same `shares` use each other's prefixes, whosever they are; without it only those of the same tenant do.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    hash: str = Field(pattern="^[0-9a-fA-F]{64}$")
    tenant: str = Field(min_length=1)
    plan: str = ""
    models: frozenset[str] | None = None
    gateway: bool = False
    shares: str = ""


def tenant_salt(tenant: str) -> bytes:
    """Tenants never share prefix digests; gateways that share a Redis agree on them."""
    return hashlib.blake2b(tenant.encode(), digest_size=16, person=b"turnout-tenant").digest()


def shared_salt(word: str) -> bytes:
    """For tenants that let each other use their prefixes. No tenant has this salt, whatever its name."""
    return hashlib.blake2b(word.encode(), digest_size=16, person=b"turnout-shares").digest()


ANONYMOUS = Principal(salt=tenant_salt("default"), is_gateway=True)
NO_HOLDER = (NOBODY, ANONYMOUS)


class Identity:
    """Answers who holds a key. The lookup is by digest, which a caller cannot choose; the comparison is constant time.

    `requires_key` False lets everybody in as the tenant `default`; by default that is so where there are no keys.
    `loopback_names_only` refuses requests that name another host than this machine: a browser that was given our address
    under a stranger's name (DNS rebinding) still sends that name.
    """

    def __init__(
        self, entries: Iterable[KeyEntry], *, requires_key: bool | None = None, loopback_names_only: bool = False
    ) -> None:
        self._by_digest: Mapping[bytes, tuple[bytes, Principal]] = {
            digest: (digest, _principal(entry)) for entry in entries for digest in (bytes.fromhex(entry.hash),)
        }
        self._requires_key = bool(self._by_digest) if requires_key is None else requires_key
        self._loopback_names_only = loopback_names_only

    def holder(self, head: Head) -> Principal:
        """As `identify`, once for all heads of a connection that read alike: what they were told holds as long as we do."""
        passed = head.passed
        if passed.identity is self and passed.principal is not None:
            return passed.principal
        principal = self.identify(head.headers)
        passed.identity, passed.principal = self, principal
        return principal

    def identify(self, headers: Mapping[str, str]) -> Principal:
        """Raises ForeignHost; and Unauthorised, in one shape whatever was wrong with the key."""
        if self._loopback_names_only:
            self.refuse_foreign(headers)
        principal = ANONYMOUS
        if self._requires_key:
            key = presented_key(headers)
            digest = hashlib.sha256(key.encode("latin-1")).digest()
            known, principal = self._by_digest.get(digest, NO_HOLDER)
            if not key or not hmac.compare_digest(known, digest):
                raise Unauthorised("The API key is missing or not known here.")
        return relayed(principal, headers) if SALT_HEADER in headers else principal

    def refuse_foreign(self, headers: Mapping[str, str]) -> None:
        """Raises ForeignHost. No browser leaves the header out, so what comes without it passes."""
        host = headers.get("host")
        if self._loopback_names_only and host is not None and not is_loopback(name_of(host)):
            raise ForeignHost(f"This gateway is not {one_line(host[:LONGEST_HOST])!r}.")


def relayed(principal: Principal, headers: Mapping[str, str]) -> Principal:
    """The tenant behind a gateway. From anybody else the header means nothing: who could choose a salt could look into
    the cache of others."""
    salt = headers.get(SALT_HEADER)
    if salt is None or not principal.is_gateway:
        return principal
    apart = hashlib.blake2b(salt.encode("latin-1"), digest_size=16, key=principal.salt, person=b"turnout-tenant")
    return msgspec.structs.replace(principal, salt=apart.digest(), is_relayed=True)


def _principal(entry: KeyEntry) -> Principal:
    return Principal(
        tenant=entry.tenant,
        plan=entry.plan,
        models=entry.models,
        salt=shared_salt(entry.shares) if entry.shares else tenant_salt(entry.tenant),
        is_gateway=entry.gateway,
    )


def name_of(host: str) -> str:
    """The name or address in a Host header, without its port and brackets.

    >>> [name_of(host) for host in ("localhost:8080", "127.0.0.1", "[::1]:8080", "evil.example:80")]
    ['localhost', '127.0.0.1', '::1', 'evil.example']
    """
    return host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]


def presented_key(headers: Mapping[str, str]) -> str:
    """The key of `Authorization: Bearer KEY`, else of `x-api-key`, else "".

    >>> presented_key({"authorization": "bearer k1"})
    'k1'
    """
    given = headers.get("authorization", "")
    key = given[len(BEARER) :].strip() if given[: len(BEARER)].lower() == BEARER else ""
    return key or headers.get("x-api-key", "").strip()


def load_keys(path: Path) -> tuple[KeyEntry, ...]:
    """Read a JSON or YAML list of keys. Raises BadSettings with the file and the place in it."""
    try:
        text = path.read_text(encoding="utf-8")
        rows = json.loads(text) if path.suffix == ".json" else YAML(typ="safe").load(text)
        return TypeAdapter(tuple[KeyEntry, ...]).validate_python(rows)
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        raise BadSettings(f"{path}: entry {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except (OSError, ValueError, YAMLError) as error:
        raise BadSettings(f"{path}: the keys file cannot be read: {type(error).__name__}") from None


def open_identity(settings: Settings) -> Identity:
    """A file of no keys lets nobody in: the last key can be withdrawn. Raises BadSettings when the gateway would be open
    to the network without keys."""
    if settings.keys_file:
        return Identity(load_keys(settings.keys_file), requires_key=True)
    if not settings.is_loopback and not settings.allow_anonymous:
        raise BadSettings(
            f"host {settings.host} is reachable from other machines and no keys are configured. Set TURNOUT_KEYS_FILE "
            "to a list of keys, or TURNOUT_ALLOW_ANONYMOUS=true to answer everybody."
        )
    return Identity((), loopback_names_only=not settings.allow_anonymous)
