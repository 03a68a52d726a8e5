"""The only place where objects are built. Engines and classifiers are imported when a policy names them, not before."""

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gateway.control.reload import Reloader
from gateway.control.upkeep import Upkeep
from gateway.decisions.log import DecisionLog
from gateway.decisions.segments import Segments
from gateway.house import Gateway
from gateway.live.build import LiveBuilder
from gateway.request.door import Door
from gateway.request.identity import BadSettings, open_identity
from gateway.request.snapshot import World
from gateway.secrets import Secret
from gateway.settings import Decisions, Settings, read_secret
from gateway.state.memory import MemoryResidency
from gateway.state.residency import Residency
from gateway.telemetry.observe import Observer, build_observer
from gateway.telemetry.redact import Redactor
from policies.policy import Policy

RESIDENT_BLOCKS = 100_000
"""Prefix blocks remembered in this process: about 40 MB when full."""


@dataclass(frozen=True, slots=True)
class Built:
    """A gateway, and what runs beside it for as long as its server does."""

    gateway: Gateway
    upkeep: Upkeep
    reloader: Reloader


def build_gateway(settings: Settings) -> Built:
    """Raises BadSettings, PolicyRefused."""
    path = settings.policy
    if path is None:
        raise BadSettings("no policy file is named: set TURNOUT_POLICY, or give one on the command line")
    text = read_policy(path)
    identity = open_identity(settings)
    builder = LiveBuilder(settings)
    policy = builder.read(text)
    residency, connect = open_residency(settings.state)
    live, observer = builder.live(policy, None), open_observer(settings, policy)
    decisions = open_decisions(settings.decisions, Redactor(secrets_of(settings, policy)), observer)
    if decisions is not None:
        decisions.policy_loaded(policy, text)
    gateway = Gateway(
        settings=settings,
        live=live,
        identity=identity,
        door=Door(settings.limits.max_in_flight),
        world=World(residency=residency, now=time.time),
        observer=observer,
        decisions=decisions,
    )
    reloader = Reloader(gateway, path, builder.opened, text)
    keepers = () if decisions is None else (decisions.aclose,)
    closers = (builder.aclose, residency.aclose, *keepers, gateway.observer.aclose)
    return Built(gateway, Upkeep(gateway, reloader, connect, closers), reloader)


def read_policy(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"the policy file {path} cannot be read: {error}") from None


def open_residency(state: Secret | None) -> tuple[Residency, Callable[[], Awaitable[object]] | None]:
    """In memory, or in Redis with a mirror in memory and the call that first connects to it."""
    memory = MemoryResidency(RESIDENT_BLOCKS, time.monotonic)
    if state is None:
        return memory, None
    from gateway.state.redis_residency import RedisResidency

    shared = RedisResidency(state.reveal(), mirror=memory)
    return shared, shared.connect


def open_decisions(asked: Decisions, redactor: Redactor, observer: Observer) -> DecisionLog | None:
    """The log of decisions with its thread started. Raises BadSettings."""
    if asked.dir is None:
        return None
    try:
        segments = Segments(
            asked.dir,
            segment_bytes=asked.segment_bytes,
            segment_s=asked.segment_s,
            total_bytes=asked.total_bytes,
            now=time.time,
        )
    except OSError as error:
        raise BadSettings(f"decisions: the log of decisions cannot be written: {error}") from None
    decisions = DecisionLog(segments, redactor, most=asked.queue, dropped=observer.not_kept)
    decisions.start()
    return decisions


def secrets_of(settings: Settings, policy: Policy) -> list[Secret]:
    """What this process must never tell."""
    keys = [read_secret(model.key) for model in policy.models.values() if model.key is not None]
    return [key for key in (*keys, settings.state) if key is not None]


def open_observer(settings: Settings, policy: Policy) -> Observer:
    told = settings.telemetry
    try:
        observer = build_observer(
            traces=told.traces,
            otlp_endpoint=told.otlp_endpoint,
            metrics=told.metrics,
            log=told.log,
            secrets=secrets_of(settings, policy),
        )
    except ValueError as error:
        raise BadSettings(f"telemetry: {error}") from None
    observer.policy_loaded(policy.hash, [route.name for route in policy.routes], policy.models)
    return observer
