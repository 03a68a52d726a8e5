"""What a gateway knows of one worker, from the worker's own words. No clock and no socket."""

from backends.worker.messages import Blocks, WorkerIs, WorkerLoad

Message = WorkerIs | Blocks | WorkerLoad

MOST_BLOCKS = 1 << 20
"""Of one worker, 16 M tokens: what it tells beyond that is passed over, and counts as not resident."""


class Heard:
    """`load` is None while the worker is not heard; `why_down` says why it cannot be reached at all.

    `resident` are the digests of the blocks that it holds.
    """

    def __init__(self) -> None:
        self.load: WorkerLoad | None = None
        self.why_down = ""
        self.resident: set[bytes] = set()
        self._generation = ""
        self._coming: set[bytes] | None = None

    def take(self, message: Message) -> bool:
        """True when the worker tells that it lost a cache that we knew."""
        self.why_down = ""
        match message:
            case WorkerIs():
                return self._begin(message.generation)
            case Blocks():
                self._change(message)
            case WorkerLoad():
                self.load = message
        return False

    def lose(self, why_down: str = "") -> None:
        """It is not heard any more. What it holds may change meanwhile; it will tell everything anew."""
        self.load, self.why_down, self._coming = None, why_down, None

    def _begin(self, generation: str) -> bool:
        before, self._generation = self._generation, generation
        if generation != before:
            self.resident, self._coming = set(), None
        return before not in ("", generation)

    def _change(self, blocks: Blocks) -> None:
        """A whole that comes in parts takes the place of what was known when its last part is here."""
        if blocks.cleared:
            self._coming = set()
        target = self.resident if self._coming is None else self._coming
        target.update(blocks.stored[: max(0, MOST_BLOCKS - len(target))])
        target.difference_update(blocks.removed)
        if self._coming is not None and not blocks.more:
            self.resident, self._coming = self._coming, None
