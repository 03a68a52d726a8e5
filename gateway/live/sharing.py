"""What this process shares with others, where it does: residency, notes, work given to replicas, who announced itself, money,
and what experiments show."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from typing import Protocol

from gateway.budgets.shared import Shared as SharedBudgets
from gateway.experiments.exchange import Shared as SharedEvidence
from gateway.live.replicas import Replica
from gateway.shadows.till import Common
from gateway.state.notes import Notes
from gateway.state.residency import Residency, Work


class SharedStore(Protocol):
    """`is_asked` is False while this process answers alone, and `why_away` says why."""

    why_away: str

    @property
    def is_asked(self) -> bool: ...

    async def connect(self) -> bool: ...

    async def aclose(self) -> None: ...


class ToldWork(Protocol):
    def changed(self, replica: str, now: Callable[[], Work]) -> None: ...

    async def follow(self) -> None: ...

    async def aclose(self) -> None: ...


class Announced(Protocol):
    async def find(self, model: str) -> frozenset[str] | None:
        """Addresses of the replicas that announced themselves; None when that cannot be told."""
        ...


@dataclass(frozen=True, slots=True)
class Sharing:
    """Of a process that is alone only `residency` and `notes` are there. `purse` holds the day's money of shadows,
    `evidence_of` opens what experiments show to a gateway of this name."""

    residency: Residency
    notes: Notes
    store: SharedStore | None = None
    work: ToldWork | None = None
    registry: Announced | None = None
    budgets: SharedBudgets | None = None
    purse: Common | None = None
    evidence_of: Callable[[str], SharedEvidence] | None = None

    def tells(self, replica: Replica) -> None:
        """Called at every change of what we gave a replica to do."""
        if self.work is not None:
            self.work.changed(replica.name, replica.work)

    def tasks(self) -> Mapping[str, Callable[[], Coroutine[None, None, None]]]:
        if self.work is None:
            return {}
        return {"connect-state": self._connect, "share-work": self.work.follow}

    async def aclose(self) -> None:
        if self.work is not None:
            await self.work.aclose()
        await self.residency.aclose()
        if self.store is not None:
            await self.store.aclose()

    async def _connect(self) -> None:
        """So that the first request finds an open connection; without one it is answered all the same."""
        if self.store is not None:
            await self.store.connect()
