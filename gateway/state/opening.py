"""Part of wiring: what gateways share, in Redis where the settings name one. What speaks Redis is imported then."""

import secrets
import time
from collections.abc import Mapping
from functools import partial

from gateway.control.upkeep import Keep
from gateway.house import Gateway
from gateway.live.sharing import Sharing
from gateway.settings import BadSettings, Settings, own_address
from gateway.state.memory import MemoryResidency
from gateway.state.notes import MemoryNotes

RESIDENT_BLOCKS = 100_000
"""Prefix blocks remembered in this process, of 60 bytes where prompts are long and 510 where each is one block: mostly 10 to 20
MB when full."""


def open_sharing(settings: Settings) -> Sharing:
    """In memory, or in Redis with a mirror in memory."""
    memory, notes = MemoryResidency(RESIDENT_BLOCKS, time.monotonic), MemoryNotes(time.monotonic)
    if settings.state is None:
        return Sharing(memory, notes)
    from gateway.state.redis_notes import SharedNotes
    from gateway.state.redis_residency import RedisResidency
    from gateway.state.registry import Registry
    from gateway.state.shared_budgets import SharedBudgets
    from gateway.state.shared_evidence import SharedEvidence
    from gateway.state.shared_purse import SharedPurse
    from gateway.state.shared_work import SharedWork
    from gateway.state.store import Store

    store, me = Store(settings.state.reveal(), wait_s=settings.state_wait_ms / 1_000), secrets.token_hex(8)
    residency = RedisResidency(store, mirror=memory, me=me)
    return Sharing(
        residency,
        SharedNotes(store, notes),
        store,
        work=SharedWork(store, me, residency.index.work_prefix),
        registry=Registry(store),
        budgets=SharedBudgets(store, secrets.token_hex(8)),
        purse=SharedPurse(store),
        evidence_of=partial(SharedEvidence, store),
    )


def announcing(gateway: Gateway, settings: Settings) -> Mapping[str, Keep]:
    """A worker's lease, where it was told to announce itself. Raises BadSettings."""
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
