"""The only place where objects are built. Engines and classifiers are imported when a policy names them, not before."""

import secrets
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gateway.budgets.ledger import Ledger
from gateway.control.reload import Reloader
from gateway.control.upkeep import Close, Keep, Upkeep
from gateway.decisions.log import DecisionLog
from gateway.decisions.segments import Segments
from gateway.experiments.keeper import Keeper
from gateway.experiments.shelf import Shelf
from gateway.house import Gateway
from gateway.live.build import LiveBuilder
from gateway.live.found import Finding, Seekers
from gateway.live.in_force import Live
from gateway.live.probing import probe_replicas
from gateway.live.sharing import Sharing
from gateway.request.door import Door
from gateway.request.identity import Identity, open_identity
from gateway.request.snapshot import World
from gateway.secrets import Secret
from gateway.settings import BadSettings, Decisions, Settings, Telemetry, read_secret
from gateway.shadows.keeper import Shadows
from gateway.shadows.opening import open_shadows
from gateway.shadows.rollouts import Rollouts
from gateway.state.opening import announcing, open_sharing
from gateway.telemetry.observe import Observer
from gateway.telemetry.opening import build_observer
from gateway.telemetry.redact import Redactor
from policies.policy import Policy


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
    text, identity, builder = read_policy(path), open_identity(settings), LiveBuilder(settings)
    with builder.reading() as reader:
        policy = builder.read(text, reader)
        sharing = open_sharing(settings)
        builder.shares_with(sharing)
        gateway = assembled(settings, builder.live(policy, None, reader), identity, sharing)
    gateway.shadows = shadows = shadows_of(gateway, sharing)
    gateway.takes(gateway.live, text)
    reloader = Reloader(gateway, path, builder.opened, text)
    beside = {
        **sharing.tasks(),
        **watching(gateway, builder, sharing),
        **announcing(gateway, settings),
        "keep-experiments": gateway.experiments.follow,
        "ask-shadows": shadows.follow,
    }
    closers = (shadows.aclose, builder.aclose, *closers_of(gateway, sharing))
    return Built(gateway, Upkeep(gateway, reloader, beside, closers), reloader)


def assembled(settings: Settings, live: Live, identity: Identity, sharing: Sharing) -> Gateway:
    """All that requests share but shadows, which ask others by it. Raises BadSettings."""
    hidden = secrets_of(settings, live.policy)
    observer = open_observer(settings.telemetry, hidden)
    decisions = open_decisions(settings.decisions, Redactor(hidden), observer)
    experiments = open_experiments(settings, sharing)
    if decisions is not None:
        decisions.tells = experiments.signalled
    return Gateway(
        settings=settings,
        live=live,
        identity=identity,
        door=Door(settings.limits.max_in_flight),
        world=World(
            residency=sharing.residency,
            now=time.time,
            notes=sharing.notes,
            forced=lambda: experiments.forced,
            ramps=lambda: experiments.ramps,
            itemises=decisions is not None or settings.debug_headers,
        ),
        observer=observer,
        decisions=decisions,
        experiments=experiments,
        budgets=Ledger(time.time, sharing.budgets),
        store=sharing.store,
    )


def shadows_of(gateway: Gateway, sharing: Sharing) -> Shadows:
    """Raises BadSettings."""
    experiments = gateway.experiments
    return open_shadows(
        gateway.settings,
        lambda: gateway.live,
        gateway.observer,
        gateway.decisions,
        lambda: gateway.door.in_flight,
        rollouts=Rollouts(lambda: experiments.shadowed, experiments.compared, gateway.world),
        common=sharing.purse,
    )


def closers_of(gateway: Gateway, sharing: Sharing) -> Iterator[Close]:
    """In this order: whoever is told by others is closed after them."""
    yield from (gateway.experiments.aclose, gateway.budgets.aclose, sharing.aclose)
    if gateway.decisions is not None:
        yield gateway.decisions.aclose
    yield gateway.observer.aclose


def read_policy(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise BadSettings(f"the policy file {path} cannot be read: {why}") from None


def watching(gateway: Gateway, builder: LiveBuilder, sharing: Sharing) -> Mapping[str, Keep]:
    """What looks after replicas that are elsewhere: those that are to be found, and those that are to be asked."""

    def live() -> Live:
        return gateway.live

    return {
        "find-replicas": Finding(live, Seekers(sharing.registry).seek, builder.found).follow,
        "probe-replicas": lambda: probe_replicas(live),
    }


def open_experiments(settings: Settings, sharing: Sharing) -> Keeper:
    """Raises BadSettings."""
    folder = settings.experiments_dir
    try:
        shelf = Shelf(folder) if folder is not None else None
        if shelf is not None:
            shelf.claim()
        me = shelf.identity() if shelf is not None else secrets.token_hex(8)
    except OSError as error:
        raise BadSettings(f"experiments: their folder cannot be written: {error}") from None
    shared = sharing.evidence_of(me) if sharing.evidence_of is not None else None
    return Keeper(time.time, shelf=shelf, shared=shared, hears_again=settings.decisions.dir is not None)


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
    decisions = DecisionLog(
        segments, redactor, most=asked.queue, dropped=observer.not_kept, keeps_numbers=asked.numbers
    )
    decisions.start()
    return decisions


def secrets_of(settings: Settings, policy: Policy) -> list[Secret]:
    """What this process must never tell."""
    keys = [read_secret(model.key) for model in policy.every_model if model.key is not None]
    return [key for key in (*keys, settings.state, settings.announce.state) if key is not None]


def open_observer(told: Telemetry, hidden: Sequence[Secret]) -> Observer:
    """Raises BadSettings."""
    try:
        return build_observer(
            traces=told.traces,
            otlp_endpoint=told.otlp_endpoint,
            metrics=told.metrics,
            log=told.log,
            sampled=told.sampled,
            slow_s=told.slow_s,
            trusts_callers=told.trust_callers,
            baggage_to=told.baggage_to,
            secrets=hidden,
        )
    except ValueError as error:
        raise BadSettings(f"telemetry: {error}") from None
