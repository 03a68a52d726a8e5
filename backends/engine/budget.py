"""How much one step may hold, and how that follows the memory there is. Pure Python, no clock."""

from dataclasses import dataclass

from backends.engine.api import BLOCK_TOKENS

CALM_STEPS = 256
"""Steps after a want of memory before a larger one is tried; twice as many after each further want."""


@dataclass(slots=True, frozen=True)
class Budget:
    """Bounds of a step. `mixed_rows` while anything decodes, `prefill_rows` otherwise; prompts get `least_prefill` always.

    128 mixed rows keep a step short on a CPU, where cost is linear beyond some 8 rows; 512 fill a step without decodes.
    """

    max_running: int = 64
    mixed_rows: int = 128
    prefill_rows: int = 512
    least_prefill: int = BLOCK_TOKENS

    @property
    def is_least(self) -> bool:
        return self.prefill_rows <= BLOCK_TOKENS and self.max_running == 1

    def half(self) -> "Budget":
        return Budget(
            max_running=max(1, self.max_running // 2),
            mixed_rows=max(BLOCK_TOKENS, self.mixed_rows // 2),
            prefill_rows=max(BLOCK_TOKENS, self.prefill_rows // 2),
        )

    def twice(self, most: "Budget") -> "Budget":
        """
        >>> Budget().half().twice(Budget()) == Budget() == Budget().twice(Budget())
        True
        """
        return Budget(
            max_running=min(most.max_running, self.max_running * 2),
            mixed_rows=min(most.mixed_rows, self.mixed_rows * 2),
            prefill_rows=min(most.prefill_rows, self.prefill_rows * 2),
        )


class Allowance:
    """The budget in force: `full`, halved at each want of memory, and grown again by calm.

    What took the memory may have been another's doing, so a larger step is tried after a while.
    """

    def __init__(self, full: Budget) -> None:
        self._full = self.budget = full
        self._calm_steps = CALM_STEPS
        self._until_growth = 0

    def shrink(self) -> None:
        """Raises MemoryError at the smallest budget."""
        if self.budget.is_least:
            raise MemoryError("the model has no memory for the smallest step")
        self.budget = self.budget.half()
        self._until_growth, self._calm_steps = self._calm_steps, self._calm_steps * 2

    def step(self) -> None:
        """One more step is about to be planned."""
        if self.budget is not self._full:
            self._until_growth -= 1
            if self._until_growth < 0:
                self._grow()

    def _grow(self) -> None:
        grown = self.budget.twice(self._full)
        self.budget = self._full if grown == self._full else grown
        self._until_growth = self._calm_steps
