"""What the accounts of one process need of those of all gateways."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol


class Change(NamedTuple):
    """One account, by its key, and what is taken of it. `size` is what it holds untouched; `flow` comes back in a second, or
    all of it at `ends_at` (seconds since the epoch). `firm`: where there is too little left, nothing is taken anywhere."""

    key: str
    amount: float
    size: int
    flow: float
    ends_at: float
    firm: bool = False


class Word(NamedTuple):
    """What the store says: whether all was taken, how many gateways ask it, and what is taken of each account."""

    taken: bool
    gateways: int
    amounts: Sequence[float]


class Shared(Protocol):
    """The accounts of all gateways."""

    async def take(self, changes: Sequence[Change], late: Callable[[Word], None]) -> Word | None:
        """All or nothing. None when the store is away or late; a word that nobody waits for any more goes to `late`."""
        ...

    def owe(self, change: Change) -> None:
        """To be taken, or given back, soon; nobody waits for it, and nothing refuses it."""
        ...

    def owed(self, key: str) -> float:
        """What of an account the store has not been told yet."""
        ...

    async def aclose(self) -> None: ...
