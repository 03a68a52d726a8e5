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

from gateway.errors import Unauthorised
from gateway.settings import Settings

DIGEST_BYTES = 32
NOBODY = bytes(DIGEST_BYTES)


class Principal(msgspec.Struct, frozen=True, kw_only=True):
    """Who is calling. `models` is None when every model may be used; `salt` keys the tenant's prefix digests."""

    tenant: str = "default"
    plan: str = ""
    models: frozenset[str] | None = None
    salt: bytes = b""

    def may_use(self, model: str) -> bool:
        return self.models is None or model in self.models


class KeyEntry(BaseModel):
    """One line of the keys file: SHA-256 of the key in hex, and what the key stands for."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    hash: str = Field(pattern="^[0-9a-fA-F]{64}$")
    tenant: str = Field(min_length=1)
    plan: str = ""
    models: frozenset[str] | None = None


class BadSettings(Exception):
    """The process cannot start; the message says what to change."""


def tenant_salt(tenant: str) -> bytes:
    """Tenants never share prefix digests; gateways that share a Redis agree on them."""
    return hashlib.blake2b(tenant.encode(), digest_size=16, person=b"turnout-tenant").digest()


ANONYMOUS = Principal(salt=tenant_salt("default"))


class Identity:
    """Answers who holds a key. The lookup is by digest, which a caller cannot choose; the comparison is constant time.

    `requires_key` False lets everybody in as the tenant `default`; by default that is so where there are no keys.
    """

    def __init__(self, entries: Iterable[KeyEntry], *, requires_key: bool | None = None) -> None:
        self._by_digest: Mapping[bytes, tuple[bytes, Principal]] = {
            digest: (digest, _principal(entry)) for entry in entries for digest in (bytes.fromhex(entry.hash),)
        }
        self._requires_key = bool(self._by_digest) if requires_key is None else requires_key

    def identify(self, headers: Mapping[str, str]) -> Principal:
        """Raises Unauthorised, in one shape whatever was wrong with the key."""
        if not self._requires_key:
            return ANONYMOUS
        key = presented_key(headers)
        digest = hashlib.sha256(key.encode("latin-1")).digest()
        known, principal = self._by_digest.get(digest, (NOBODY, ANONYMOUS))
        if not key or not hmac.compare_digest(known, digest):
            raise Unauthorised("The API key is missing or not known here.")
        return principal


def _principal(entry: KeyEntry) -> Principal:
    return Principal(tenant=entry.tenant, plan=entry.plan, models=entry.models, salt=tenant_salt(entry.tenant))


def presented_key(headers: Mapping[str, str]) -> str:
    """The key of `Authorization: Bearer KEY`, else of `x-api-key`, else "".

    >>> presented_key({"authorization": "bearer k1"})
    'k1'
    """
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() == "bearer" and key.strip() else headers.get("x-api-key", "").strip()


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
    return Identity(())
