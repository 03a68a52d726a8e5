"""The only place where objects are built. Engines and classifiers are imported when a policy names them, not before."""

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.budgets.ledger import Ledger
from gateway.control.reload import Reloader
from gateway.control.upkeep import Keep, Upkeep
from gateway.decisions.log import DecisionLog
from gateway.decisions.segments import Segments
from gateway.experiments.exchange import Shared
from gateway.experiments.keeper import Keeper
from gateway.experiments.shelf import Shelf
from gateway.house import Gateway
from gateway.live.build import LiveBuilder
from gateway.live.found import Finding, Seekers
from gateway.live.in_force import Live
from gateway.live.probing import probe_replicas
from gateway.live.sharing import Sharing
from gateway.request.door import Door
from gateway.request.identity import BadSettings, open_identity
from gateway.request.snapshot import World
from gateway.secrets import Secret
from gateway.settings import Decisions, Settings, own_address, read_secret
from gateway.shadows.opening import open_shadows
from gateway.shadows.rollouts import Rollouts
from gateway.shadows.till import Common
from gateway.state.memory import MemoryResidency
from gateway.state.notes import MemoryNotes
from gateway.telemetry.observe import Observer, build_observer
from gateway.telemetry.redact import Redactor
from policies.policy import Policy
from policies.shadows.plan import names_of

RESIDENT_BLOCKS = 100_000
"""Prefix blocks remembered in this process, of 60 bytes where prompts are long and 510 where each is one block: mostly 10 to 20
MB when full."""


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
    sharing = open_sharing(settings)
    builder.shares_with(sharing)
    live, observer = builder.live(policy, None), open_observer(settings, policy)
    decisions = open_decisions(settings.decisions, Redactor(secrets_of(settings, policy)), observer)
    if decisions is not None:
        decisions.policy_loaded(policy, text)
    experiments = open_experiments(settings, sharing)
    experiments.policy_loaded(policy)
    if decisions is not None:
        decisions.tells = experiments.signalled
    gateway = Gateway(
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
        budgets=open_budgets(sharing),
        store=sharing.store,
    )
    rollouts = Rollouts(lambda: experiments.shadowed, experiments.compared, gateway.world)
    inside, common = (lambda: gateway.door.in_flight), shared_purse(sharing)
    gateway.shadows = shadows = open_shadows(
        settings, lambda: gateway.live, observer, decisions, inside, rollouts=rollouts, common=common
    )
    shadows.policy_loaded(live)
    reloader = Reloader(gateway, path, builder.opened, text)
    keepers = () if decisions is None else (decisions.aclose,)
    ours = (shadows.aclose, builder.aclose, experiments.aclose, gateway.budgets.aclose, sharing.aclose)
    closers = (*ours, *keepers, gateway.observer.aclose)
    beside = {
        **sharing.tasks(),
        **watching(gateway, builder, sharing),
        **announcing(gateway, settings),
        "keep-experiments": experiments.follow,
        "ask-shadows": shadows.follow,
    }
    return Built(gateway, Upkeep(gateway, reloader, beside, closers), reloader)


def read_policy(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"the policy file {path} cannot be read: {error}") from None


def open_sharing(settings: Settings) -> Sharing:
    """In memory, or in Redis with a mirror in memory."""
    memory, notes = MemoryResidency(RESIDENT_BLOCKS, time.monotonic), MemoryNotes(time.monotonic)
    if settings.state is None:
        return Sharing(memory, notes)
    from gateway.state.redis_notes import SharedNotes
    from gateway.state.redis_residency import RedisResidency
    from gateway.state.registry import Registry
    from gateway.state.shared_work import SharedWork
    from gateway.state.store import Store

    store, me = Store(settings.state.reveal(), wait_s=settings.state_wait_ms / 1_000), secrets.token_hex(8)
    residency = RedisResidency(store, mirror=memory, me=me)
    work = SharedWork(store, me, residency.index.work_prefix)
    return Sharing(residency, SharedNotes(store, notes), store, work, Registry(store))


def watching(gateway: Gateway, builder: LiveBuilder, sharing: Sharing) -> Mapping[str, Keep]:
    """What looks after replicas that are elsewhere: those that are to be found, and those that are to be asked."""

    def live() -> Live:
        return gateway.live

    return {
        "find-replicas": Finding(live, Seekers(sharing.registry).seek, builder.found).follow,
        "probe-replicas": lambda: probe_replicas(live),
    }


def announcing(gateway: Gateway, settings: Settings) -> Mapping[str, Keep]:
    """A worker's lease, where it was told to announce itself."""
    asked = settings.announce
    if asked.state is None:
        return {}
    from gateway.state.registry import Registry
    from gateway.state.store import Store
    from gateway.worker.announce import Announcement

    address = asked.address or own_address(settings)
    if address is None:
        raise BadSettings(
            f"gateways cannot reach {settings.host}:{settings.port}: say at which address they can (--address)"
        )
    store = Store(asked.state.reveal())
    announcement = Announcement(gateway, Registry(store), address, store.aclose)
    return {"announce": announcement.keep}


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
    hears_again = settings.decisions.dir is not None
    return Keeper(time.time, shelf=shelf, shared=shared_evidence(sharing, me), hears_again=hears_again)


def shared_evidence(sharing: Sharing, me: str) -> Shared | None:
    if sharing.store is None:
        return None
    from gateway.state.shared_evidence import SharedEvidence
    from gateway.state.store import Store

    assert isinstance(sharing.store, Store)
    return SharedEvidence(sharing.store, me)


def open_budgets(sharing: Sharing) -> Ledger:
    """In memory, or a copy of what gateways share."""
    if sharing.store is None:
        return Ledger(time.time)
    from gateway.state.shared_budgets import SharedBudgets
    from gateway.state.store import Store

    assert isinstance(sharing.store, Store)
    return Ledger(time.time, SharedBudgets(sharing.store, secrets.token_hex(8)))


def shared_purse(sharing: Sharing) -> Common | None:
    if sharing.store is None:
        return None
    from gateway.state.shared_purse import SharedPurse
    from gateway.state.store import Store

    assert isinstance(sharing.store, Store)
    return SharedPurse(sharing.store)


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


def open_observer(settings: Settings, policy: Policy) -> Observer:
    told = settings.telemetry
    try:
        observer = build_observer(
            traces=told.traces,
            otlp_endpoint=told.otlp_endpoint,
            metrics=told.metrics,
            log=told.log,
            sampled=told.sampled,
            slow_s=told.slow_s,
            trusts_callers=told.trust_callers,
            baggage_to=told.baggage_to,
            secrets=secrets_of(settings, policy),
        )
    except ValueError as error:
        raise BadSettings(f"telemetry: {error}") from None
    dialects = {model.name: model.dialect for model in policy.every_model}
    routes = [route.name for route in policy.routes]
    shadows, budgets = names_of(policy.shadows, policy.experiments), [budget.name for budget in policy.budgets]
    tried = policy.experiments
    observer.policy_loaded(policy.hash, routes, dialects, tried, dialects, shadows=shadows, budgets=budgets)
    return observer
