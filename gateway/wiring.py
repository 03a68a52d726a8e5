"""The only place where objects are built. Engines and classifiers are imported when a policy names them, not before."""

import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from gateway.control.reload import Reloader
from gateway.control.upkeep import Upkeep
from gateway.house import Gateway
from gateway.live.build import LiveBuilder
from gateway.request.door import Door
from gateway.request.identity import BadSettings, open_identity
from gateway.request.snapshot import World
from gateway.secrets import Secret
from gateway.settings import Settings, read_secret
from gateway.state.memory import MemoryResidency
from gateway.state.residency import Residency
from gateway.telemetry.observe import Observer, build_observer
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
    gateway = Gateway(
        settings=settings,
        live=builder.live(policy, None),
        identity=identity,
        door=Door(settings.limits.max_in_flight),
        world=World(residency=residency, now=time.time, draw=random.random),
        observer=open_observer(settings, policy),
    )
    reloader = Reloader(gateway, path, builder.opened, text)
    closers = (builder.aclose, residency.aclose, gateway.observer.aclose)
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


def open_observer(settings: Settings, policy: Policy) -> Observer:
    told = settings.telemetry
    keys = [read_secret(model.key) for model in policy.models.values() if model.key is not None]
    try:
        observer = build_observer(
            traces=told.traces,
            otlp_endpoint=told.otlp_endpoint,
            metrics=told.metrics,
            log=told.log,
            secrets=[key for key in (*keys, settings.state) if key is not None],
        )
    except ValueError as error:
        raise BadSettings(f"telemetry: {error}") from None
    observer.policy_loaded(policy.hash, [route.name for route in policy.routes], policy.models)
    return observer
