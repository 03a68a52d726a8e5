"""What an operator sets for one process. The only file that reads environment variables.

Every field has a variable: `TURNOUT_PORT`, `TURNOUT_LIMITS__BODY_BYTES`. What the command line passes to `Settings(...)`
wins over the environment.
"""

import os
from pathlib import Path
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    PlainValidator,
    PositiveFloat,
    PositiveInt,
    model_validator,
)
from pydantic_settings import BaseSettings, SettingsConfigDict

from gateway.addresses import is_loopback, url_of
from gateway.secrets import Secret
from gateway.state.address import read_address
from policies.catalogue import SecretRef

MIB = 1 << 20


class BadSettings(Exception):
    """The process cannot start; the message says what to change."""


LogForm = Literal["json", "console", "off"]
Traces = Literal["off", "console", "otlp"]


def _secret(value: object) -> Secret:
    return value if isinstance(value, Secret) else Secret(str(value))


SecretText = Annotated[Secret, PlainValidator(_secret)]


def _user_cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "turnout"


def _known_state(value: Secret | None) -> Secret | None:
    if value is not None:
        read_address(value.reveal())
    return value


StateUrl = Annotated[SecretText | None, AfterValidator(_known_state)]


class Announce(BaseModel):
    """Where a worker announces itself to gateways: `state` is their Redis, `address` the base URL at which they reach it."""

    model_config = ConfigDict(frozen=True, extra="forbid", arbitrary_types_allowed=True)

    state: StateUrl = None
    address: str | None = Field(default=None, pattern=r"^https?://[^\s/?#@]+[^\s?#]*$")


class Limits(BaseModel):
    """What one request may cost before it is understood, and one connection before it asks. Sizes in bytes, times in seconds.

    A body may take `body_read_s`, and a second more for every `body_bytes_per_s` that came of it.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    connections: PositiveInt = 8_192
    body_bytes: PositiveInt = 32 * MIB
    body_read_s: PositiveFloat = 30.0
    body_bytes_per_s: PositiveInt = 51_200
    head_read_s: PositiveFloat = 10.0
    header_bytes: PositiveInt = 16_384
    headers: PositiveInt = 128
    json_depth: PositiveInt = 64
    messages: PositiveInt = 10_000
    tools: PositiveInt = 1_024
    images: PositiveInt = 256
    choices: PositiveInt = 128
    inputs: PositiveInt = 2_048
    max_in_flight: PositiveInt = 2_048
    feedback_per_minute: PositiveInt = 600
    silence_s: PositiveFloat = Field(
        default=15.0, description="silence in a stream after which a keep-alive comment is sent"
    )


class Telemetry(BaseModel):
    """`sampled` is the share of traces that are kept beside what always is: errors, escalations, drawn choices, the first
    requests of a variant, and whose first content took more than `slow_s`. With `trust_callers` a trace that a caller began
    goes on here and the caller has decided; without, it is linked to. `baggage_to` are the hosts of upstreams that are told
    a request's variants."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    traces: Traces = "off"
    sampled: float = Field(default=1.0, ge=0, le=1)
    slow_s: PositiveFloat = 10.0
    trust_callers: bool = True
    baggage_to: tuple[str, ...] = ()
    otlp_endpoint: str | None = None
    metrics: bool = True
    log: LogForm = "json"


class Decisions(BaseModel):
    """The log of decisions: `dir` is its folder, None for none. Sizes in bytes, times in seconds. `total_bytes` bounds all
    segments together; `queue` how many records may wait to be written. `numbers`: what a classifier reads of each question
    is kept too (an embedding and lexical features, no text), so that one can be trained on the log."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dir: Path | None = None
    segment_bytes: int = Field(default=64 * MIB, ge=MIB)
    segment_s: PositiveFloat = 3_600.0
    total_bytes: int = Field(default=4_096 * MIB, ge=2 * MIB)
    queue: PositiveInt = 8_192
    numbers: bool = False

    @model_validator(mode="after")
    def _one_is_kept_beside_the_newest(self) -> "Decisions":
        if self.total_bytes < 2 * self.segment_bytes:
            raise ValueError("total_bytes must hold two segments: it is less than twice segment_bytes")
        return self


class Experiments(BaseModel):
    """`dir` is where the evidence of experiments is kept over restarts, one folder for each process; where the log of decisions
    is kept it is in there when not stated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dir: Path | None = None


class Admin(BaseModel):
    """The admin API (`gateway.control.admin`): off without a `port`. `key_hash` is the SHA-256 of its key, in hex; no other key
    opens it."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    host: str = "127.0.0.1"
    port: int | None = Field(default=None, ge=0, le=65_535)
    key_hash: str | None = Field(default=None, pattern="^[0-9a-fA-F]{64}$")

    @model_validator(mode="after")
    def _is_never_open(self) -> "Admin":
        if self.port is not None and self.key_hash is None:
            raise ValueError("the admin API needs a key: set TURNOUT_ADMIN__KEY_HASH to its SHA-256, in hex")
        return self


class Shadows(BaseModel):
    """`dir` is where the money and the evidence of shadows are kept over restarts, one folder for each process; where the
    log of decisions is kept it is in there when not stated."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dir: Path | None = None


class Settings(BaseSettings):
    """`keys_file` lists client keys (see `gateway.request.identity`); without it, callers on loopback are the tenant `default`.

    `allow_anonymous` lets a gateway without keys listen beyond loopback. `state` is a Redis URL, or None for memory.
    `artefact` replaces the shipped difficulty classifier, `embedder` its encoder and any that is not here; `cache_dir` holds
    pulled weights. `drain_s` bounds how long a stopping process waits for answers under way. `debug_headers`: every answer
    tells, for each candidate, what of its prompt was believed to be there; with the addresses of replicas, so not for
    strangers.
    """

    model_config = SettingsConfigDict(
        env_prefix="TURNOUT_", env_nested_delimiter="__", frozen=True, extra="ignore", arbitrary_types_allowed=True
    )

    policy: Path | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=8080, ge=0, le=65_535)
    keys_file: Path | None = None
    allow_anonymous: bool = False
    state: StateUrl = None
    state_wait_ms: float = Field(
        default=5.0, gt=0, le=1_000, description="the longest that a request waits for `state`"
    )
    announce: Announce = Announce()
    debug_headers: bool = False
    artefact: Path | None = None
    embedder: str | None = None
    cache_dir: Path = Field(default_factory=_user_cache)
    cors_origins: tuple[str, ...] = ()
    limits: Limits = Limits()
    drain_s: PositiveFloat = 30.0
    telemetry: Telemetry = Telemetry()
    decisions: Decisions = Decisions()
    experiments: Experiments = Experiments()
    shadows: Shadows = Shadows()
    admin: Admin = Admin()

    @model_validator(mode="after")
    def _listens_apart(self) -> "Settings":
        if self.admin.port and self.admin.port == self.port:
            raise ValueError("the admin API listens apart from clients: give TURNOUT_ADMIN__PORT another port")
        return self

    @property
    def experiments_dir(self) -> Path | None:
        if self.experiments.dir is not None or self.decisions.dir is None:
            return self.experiments.dir
        return self.decisions.dir / "experiments"

    @property
    def shadows_dir(self) -> Path | None:
        if self.shadows.dir is not None or self.decisions.dir is None:
            return self.shadows.dir
        return self.decisions.dir / "shadows"

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach us."""
        return is_loopback(self.host)


def own_address(settings: Settings) -> str | None:
    """Where others reach this process, if the host and the port that it was told say so."""
    if not settings.port or settings.host in ("0.0.0.0", "::", ""):
        return None
    return f"{url_of(settings.host, settings.port)}/v1"


def read_secret(ref: SecretRef) -> Secret | None:
    """The secret that `ref` names, or None when it is unset, unreadable or empty."""
    if ref.kind == "env":
        text = os.environ.get(ref.name, "")
    else:
        try:
            text = Path(ref.name).read_text(encoding="utf-8")
        except OSError:
            text = ""
    return Secret(text) if text.strip() else None
